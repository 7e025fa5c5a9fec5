//! The arguments that open encrypted archives.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueHint};

#[derive(Args, Clone, Debug)]
pub(crate) struct Unlock {
    /// Take the password of encrypted archives from the first line of FILE
    ///
    /// Without it the environment has it, as MANYFILES_PASSWORD; or it is asked for on the terminal, three times if it
    /// is wrong. It is no argument, because every user can see those (ps).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Encrypted archives")]
    pub password_file: Option<PathBuf>,

    /// Says why there is no such option, to who looks for it.
    #[arg(long, hide = true, num_args = 0..=1)]
    pub password: Option<Option<OsString>>,
}
