//! [`Corpus`]: the same many files every time.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::random::Random;
use crate::tree::{Entry, Tree};

/// Files in memory: paths, folders before what is in them and the files of one folder together, as an archive has them.
/// The same seed makes the same bytes on every machine.
#[derive(Clone)]
pub struct Corpus {
    /// Relative path and content of each file.
    pub files: Vec<(PathBuf, Arc<[u8]>)>,
    name: &'static str,
    seed: u64,
}

impl fmt::Debug for Corpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Corpus { files, name, seed } = self;
        f.debug_struct("Corpus").field("name", name).field("seed", seed).field("files", &files.len()).finish()
    }
}

impl Corpus {
    /// 2,300 files of about 1.5 KB in one folder: a font's source, a page cache, a mail folder.
    pub fn w1(seed: u64) -> Corpus {
        Corpus::one_folder("W1", 2_300, seed)
    }

    /// `count` files of 1 to 2 KB in the folder `glyphs`.
    pub fn one_folder(name: &'static str, count: usize, seed: u64) -> Corpus {
        let mut random = Random::new(seed);
        let pool = Pool::new(&mut random);
        let file = |n| {
            let len = 1024 + random.below(1024);
            (PathBuf::from(format!("glyphs/{n:06}.glif")), pool.take(len, &mut random))
        };
        Corpus { files: (0..count).map(file).collect(), name, seed }
    }

    /// 50,000 files, median 2 KB and at most 64 KB, 232 MB in all, in 2,954 folders: a source tree.
    pub fn w2(seed: u64) -> Corpus {
        Corpus::source_tree("W2", 50_000, 2_954, seed)
    }

    /// `count` files with sizes as in a source tree (median 2 KB, at most 64 KB) in `folders` nested folders, none of
    /// them without a file.
    pub fn source_tree(name: &'static str, count: usize, folders: usize, seed: u64) -> Corpus {
        assert!(folders > 0 && count >= folders, "every folder gets a file");
        let mut random = Random::new(seed);
        let pool = Pool::new(&mut random);
        let mut paths = vec![PathBuf::from("src")];
        while paths.len() < folders {
            let parent = &paths[random.below(paths.len())];
            let path = parent.join(format!("d{}", paths.len()));
            paths.push(path);
        }
        // Folders differ in size: a few hold hundreds of files, many only some.
        let mut folder_of: Vec<usize> = (0..folders).collect();
        folder_of.extend((folders..count).map(|_| random.below(folders).min(random.below(folders))));
        let mut files: Vec<_> = folder_of
            .into_iter()
            .enumerate()
            .map(|(n, folder)| {
                (paths[folder].join(format!("f{n:06}.c")), pool.take(source_size(&mut random), &mut random))
            })
            .collect();
        files.sort_by(|a, b| (a.0.parent(), &a.0).cmp(&(b.0.parent(), &b.0)));
        Corpus { files, name, seed }
    }

    /// The files of W1's size, `per_folder` in each folder.
    pub fn spread(count: usize, per_folder: usize, seed: u64) -> Corpus {
        let mut corpus = Corpus::one_folder("spread", count, seed);
        for (n, (path, _)) in corpus.files.iter_mut().enumerate() {
            let name = path.file_name().expect("each path has a name").to_owned();
            *path = PathBuf::from(format!("glyphs/{:04}", n / per_folder)).join(name);
        }
        corpus
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, bytes)| bytes.len() as u64).sum()
    }

    /// The folders of the files, and the folders above them.
    pub fn folders(&self) -> BTreeSet<&Path> {
        let mut folders = BTreeSet::new();
        for (path, _) in &self.files {
            for folder in path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
                if !folders.insert(folder) {
                    break;
                }
            }
        }
        folders
    }

    /// Writes all of it below `root`, with the folders that are missing.
    pub fn write(&self, root: &Path) -> io::Result<()> {
        fs::create_dir_all(root)?;
        for folder in self.folders() {
            fs::create_dir_all(root.join(folder))?;
        }
        self.files.iter().try_for_each(|(path, bytes)| fs::write(root.join(path), bytes))
    }

    /// The tree of a folder after all files have been written there. Permissions and times are placeholders.
    pub fn tree(&self) -> Tree {
        let files = self.files.iter().map(|(path, bytes)| (path.clone(), Entry::file(bytes)));
        let folders = self.folders().into_iter().map(|path| (path.to_owned(), Entry::folder()));
        Tree { entries: files.chain(folders).collect() }
    }
}

impl fmt::Display for Corpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = self.bytes() as f64 / 1e6;
        let folders = self.folders().len();
        write!(f, "{}: {} files, {megabytes:.1} MB, {folders} folders, seed {}", self.name, self.files.len(), self.seed)
    }
}

/// Bytes of a file of a source tree. The logarithm of the size is about normally distributed; in whole numbers, so that
/// no machine's floating point makes another corpus of the same seed.
fn source_size(random: &mut Random) -> usize {
    // Twelve uniform numbers less six: mean 0, deviation 1; here in 1/1024.
    let normal = (0..12).map(|_| random.below(1025) as i64).sum::<i64>() - 6 * 1024;
    let log2 = 11 * 1024 + normal * 29 / 16;
    // 2^(whole + part), a straight line between powers of two.
    let (whole, part) = (log2.div_euclid(1024).clamp(0, 40), log2.rem_euclid(1024) as u64);
    let size = (1u64 << whole) + (((1u64 << whole) * part) >> 10);
    size.clamp(16, 64 << 10) as usize
}

/// Text-like bytes that files take their content from: each file another stretch, and its number in front.
struct Pool(Vec<u8>);

impl Pool {
    fn new(random: &mut Random) -> Pool {
        const WORDS: [&str; 16] = [
            "static ", "int ", "return ", "struct ", "if (", ") {\n\t", "}\n", "0x", "const ", "char *", " = ",
            ";\n\t", "for (", "/* ", " */\n", "void ",
        ];
        let mut bytes = Vec::with_capacity(1 << 20);
        while bytes.len() < 1 << 20 {
            bytes.extend_from_slice(WORDS[random.below(16)].as_bytes());
            bytes.extend_from_slice(format!("{:x}", random.below(1 << 20)).as_bytes());
        }
        Pool(bytes)
    }

    fn take(&self, len: usize, random: &mut Random) -> Arc<[u8]> {
        let start = random.below(self.0.len() - len);
        let mut bytes = self.0[start..start + len].to_vec();
        // No two files are the same, or a writer that mixed them up would go unnoticed.
        let mark = format!("{:016x}", random.next());
        let n = mark.len().min(len);
        bytes[..n].copy_from_slice(&mark.as_bytes()[..n]);
        bytes.into()
    }
}
