//! A kernel to boot: one of the cache, or the user's own.

use std::path::{Path, PathBuf};

use model::sorting::Order;

use crate::cache::Cache;
use crate::embedded::hash;
use crate::error::Failed;
use crate::packages::{self, Release};

/// A kernel with everything that is needed.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// The name that it was asked for by.
    pub name: String,
    /// The image.
    pub image: PathBuf,
    /// The folder of its modules, if there is one.
    pub modules: Option<PathBuf>,
    /// Its packages' files; empty for the user's own.
    pub package: String,
    /// SHA-256 of the image.
    pub hash: String,
}

impl Kernel {
    /// The kernel that a word means: a path where it has a slash, else a version whose
    /// newest kernel is taken from the cache, or fetched into it.
    ///
    /// # Errors
    /// There is none.
    pub fn find(cache: &Cache, word: &str, modules: Option<&Path>, offline: bool) -> Result<Self, Failed> {
        if word.contains('/') {
            return Self::of_file(Path::new(word), modules);
        }
        if let Some(release) = cached(cache, word) {
            return Self::of_cache(cache, word, &release);
        }
        if offline {
            let here: Vec<String> = cache.names("kernels");
            let near =
                if here.is_empty() { ", and none is cached".to_owned() } else { format!(" in the cache, which has {}", here.join(", ")) };
            return Err(Failed::NoKernel { name: word.to_owned(), near });
        }
        let release = packages::fetch_kernel(cache, word)?;
        Self::of_cache(cache, word, &release)
    }

    fn of_cache(cache: &Cache, word: &str, release: &Release) -> Result<Self, Failed> {
        let folder = cache.root().join("kernels").join(&release.0);
        cache.used("kernels", &release.0);
        let modules = Some(folder.join("modules")).filter(|modules| modules.is_dir());
        let package = sys::file::read_text(&folder.join("package"), LARGEST).unwrap_or_default();
        Self::new(word, folder.join("vmlinuz"), modules, package)
    }

    fn of_file(image: &Path, modules: Option<&Path>) -> Result<Self, Failed> {
        Self::new(&image.display().to_string(), image.to_owned(), modules.map(Path::to_owned), String::new())
    }

    fn new(name: &str, image: PathBuf, modules: Option<PathBuf>, package: String) -> Result<Self, Failed> {
        let bytes = sys::file::read(&image, LARGEST).map_err(Failed::file("read the kernel", &image))?;
        Ok(Self { name: name.to_owned(), image, modules, package, hash: hash(&bytes) })
    }
}

/// The largest kernel that is read.
const LARGEST: u64 = 1 << 30;

/// Series of the kernels in the cache, the oldest first.
pub fn cached_series(cache: &Cache) -> Vec<String> {
    let mut releases: Vec<Release> = cache.names("kernels").into_iter().map(Release).collect();
    releases.order_by(|a, b| a.order().cmp(&b.order()));
    let mut all: Vec<String> = releases.iter().map(Release::series).collect();
    all.dedup();
    all
}

/// The newest kernel of the cache that a word means.
pub fn cached(cache: &Cache, word: &str) -> Option<Release> {
    let all = cache.names("kernels").into_iter().map(Release).filter(|release| release.is(word));
    all.max_by(|a, b| a.order().cmp(&b.order()))
}
