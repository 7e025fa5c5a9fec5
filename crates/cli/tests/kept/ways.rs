//! The columns: commands that copy the folder `$s` to the folder `$t`, which is there, empty, and has a default access
//! control list where the file system has such. `$M` is manyfiles.

pub(crate) struct Way {
    pub name: &'static str,
    pub run: &'static str,
}

/// The way that must not lose what others keep.
pub(crate) const OURS: &str = WAYS[0].name;

pub(crate) const WAYS: &[Way] = &[
    Way { name: "manyfiles copy -a", run: "\"$M\" copy -q -a \"$s/.\" \"$t\"" },
    Way { name: "cp -a", run: "cp -a \"$s/.\" \"$t\"" },
    Way { name: "rsync -aHAX", run: "rsync -aHAX \"$s/\" \"$t\"" },
    Way { name: "manyfiles copy", run: "\"$M\" copy -q \"$s/.\" \"$t\"" },
];
