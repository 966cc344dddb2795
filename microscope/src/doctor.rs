//! Findings about the microscope: whether an emulator with plugins and kernels are here,
//! and how to get them. It only looks: nothing is fetched, made or marked as used.

use model::check::{Area, Check, Need};

use crate::cache::Cache;
use crate::emulator::{Emulator, Interface};
use crate::error::Failed;
use crate::kernel::cached_series;

/// What to do where apt can fetch what is missing.
const FETCH: &str = "`nettoll microscope` fetches what is missing into its cache, where apt has a package source";

/// Looks for the emulator, its plugin interface and kernels.
pub fn checks() -> Vec<Check> {
    // Of a cache that another can have written nothing is started, and nothing is said.
    let cache = Cache::look();
    let found = cache.as_ref().map_err(|why| Failed::NoEmulator(why.to_string())).and_then(|cache| Emulator::look(cache.as_ref()));
    let [emulator, plugins] = emulator(found);
    vec![emulator, plugins, kernels(cache.ok().flatten().as_ref())]
}

/// The emulator and its plugins: one that has none is there, and of no use.
fn emulator(found: Result<Emulator, Failed>) -> [Check; 2] {
    let present = |name, detail: String| Check::present(Area::Microscope, name, Need::Optional, detail);
    let absent = |name, answer: String, remedy: String| Check::absent(Area::Microscope, name, Need::Optional, answer, remedy);
    let install = || format!("{FETCH}; or install it (Debian: qemu-system-x86).");
    match found {
        Ok(found) => {
            let interface = match found.interface {
                Interface::New => "counted in the code that QEMU makes",
                Interface::Old => "an old interface: reads and writes are counted by callbacks, which is slower",
            };
            let version = found.version.strip_prefix("QEMU emulator version ").unwrap_or(&found.version);
            [present("emulator", format!("QEMU {version}")), present("plugins", interface.to_owned())]
        }
        Err(Failed::NoPlugins(program)) => {
            let answer = format!("{} was built without them (--enable-plugins)", program.display());
            [present("emulator", program.display().to_string()), absent("plugins", answer, install())]
        }
        Err(why) => {
            let answer = match why {
                Failed::NoEmulator(answer) => answer,
                why => why.to_string(),
            };
            let plugins = "there is no emulator to have them".to_owned();
            [absent("emulator", answer, install()), absent("plugins", plugins, install())]
        }
    }
}

fn kernels(cache: Option<&Cache>) -> Check {
    let series = cache.map(cached_series).unwrap_or_default();
    match series.is_empty() {
        false => Check::present(Area::Microscope, "kernels", Need::Optional, format!("{} in the cache", series.join(", "))),
        true => Check::absent(
            Area::Microscope,
            "kernels",
            Need::Optional,
            "none is in the cache",
            format!("{FETCH} (`--kernel 6.12`); or give one of your own: `--kernel ./vmlinuz`."),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{emulator, kernels};
    use crate::cache::Cache;
    use crate::error::Failed;
    use model::check::State;

    #[test]
    fn what_is_missing_comes_with_a_way_to_get_it() {
        for why in [Failed::NoPlugins("/usr/bin/qemu".into()), Failed::NoEmulator("none is in PATH".to_owned())] {
            let found = emulator(Err(why));
            let State::Absent { answer, remedy } = &found[1].state else { panic!("{found:?}") };
            assert!(!answer.is_empty() && remedy.contains("apt") && remedy.contains("qemu-system-x86"), "{answer} {remedy}");
        }
    }

    #[test]
    fn kernels_of_the_cache_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(folder.path())).unwrap();
        assert!(!kernels(Some(&cache)).is_present() && !kernels(None).is_present());
        std::fs::create_dir_all(folder.path().join("kernels/6.12.1-cloud-amd64")).unwrap();
        let State::Present { detail } = kernels(Some(&cache)).state else { panic!("absent") };
        assert_eq!(detail, "6.12 in the cache");
    }
}
