//! `nettoll microscope bisect-step` on an image and modules in a folder, as a kernel's own build
//! leaves them: from a real boot to what `git bisect run` is answered.

use std::fs;
use std::path::Path;
use std::process::Command;

use testkit::claims::Skip;
use testkit::guest;

use super::lab;

testkit::claims!(an_image_of_ones_own_is_good_bad_or_does_not_boot,);

/// One that every kernel needs modules for.
const MESSAGE: &str = "veth-udp-112";

/// Answer of a step: its exit code and all that it said.
fn step(program: &Path, folder: &Path, image: &str, limit: u64) -> (Option<i32>, String) {
    let mut command = Command::new(program);
    command.args(["microscope", "bisect-step", "--offline", "--scenario", "veth-udp", "--length", "112", "--modules", "modules"]);
    command.arg("--kernel").arg(format!("./{image}")).arg("--limit").arg(format!("{MESSAGE}={limit}"));
    let output = command.current_dir(folder).output().unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.code(), said)
}

/// The same folders below another place; their files are the same.
fn link(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() { link(&path, &to) } else { std::os::unix::fs::symlink(&path, &to).unwrap() }
    }
}

fn an_image_of_ones_own_is_good_bad_or_does_not_boot() -> Result<(), Skip> {
    let lab = lab()?;
    let program = guest::program()?;
    let folder = tempfile::tempdir().unwrap();
    let image = fs::read(&lab.kernel.image).unwrap();
    fs::write(folder.path().join("vmlinuz"), &image).unwrap();
    // As a build leaves it that was killed.
    fs::write(folder.path().join("torn"), &image[..image.len() / 3]).unwrap();
    let modules = lab.kernel.modules.as_ref().ok_or_else(|| Skip("the cached kernel has no modules".to_owned()))?;
    link(modules, &folder.path().join("modules"));
    let steps = [("vmlinuz", u64::MAX), ("vmlinuz", 1), ("torn", 1)];
    let (program, at) = (program.as_path(), folder.path());
    let answers = std::thread::scope(|scope| {
        steps.map(|(image, limit)| scope.spawn(move || step(program, at, image, limit))).map(|step| step.join().unwrap())
    });
    let [good, bad, torn] = &answers;
    assert_eq!((good.0, bad.0, torn.0), (Some(0), Some(1), Some(125)), "{answers:#?}");
    let count = |answer: &str| answer.split_once(&format!("{MESSAGE}: "))?.1.split(' ').next()?.parse::<u64>().ok();
    let counted = count(&good.1).unwrap_or_else(|| panic!("{good:#?}"));
    assert_eq!(count(&bad.1), Some(counted), "both booted the same kernel");
    assert!(torn.1.contains("this kernel cannot be judged"), "{torn:#?}");
    println!("{MESSAGE} on an image of one's own: {counted} instructions");
    Ok(())
}
