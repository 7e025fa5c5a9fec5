//! What is wrong with a command line, and what may have been meant.

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// What the user of this command line may have meant. `words` are its words, without the program.
pub(super) fn hint(error: &clap::Error, words: &[OsString]) -> Option<String> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let command = words.first().and_then(|word| word.to_str()).unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument if is_unpack(command) || command.starts_with('-') => {
            // clap names the first letter that it does not know, not the word.
            let first = context(ContextKind::InvalidArg)?;
            words
                .iter()
                .filter_map(|word| word.to_str())
                .find(|word| word.starts_with(first) && is_letters_of_tar(word))
                .map(without_letters)
        }
        ErrorKind::InvalidSubcommand => match context(ContextKind::InvalidSubcommand)? {
            word if Path::new(word).is_dir() => Some(format!("to copy this folder: manyfiles copy {word} DST")),
            word if Path::new(word).is_file() => Some(format!("to unpack this archive: manyfiles unpack {word}")),
            word if is_letters_of_tar(word) => Some(without_letters(word)),
            _ => None,
        },
        _ => None,
    }
}

fn without_letters(letters: &str) -> String {
    let instead = match letters {
        _ if letters.contains('c') => "manyfiles pack SRC... ARCHIVE (its name tells the format)",
        _ if letters.contains('t') => "manyfiles list ARCHIVE (-l tells more)",
        _ => "manyfiles unpack ARCHIVE -C DIR (-v tells more)",
    };
    format!("tar's letters are not needed: {instead}")
}

fn is_unpack(command: &str) -> bool {
    ["unpack", "extract", "x"].contains(&command)
}

/// `-xvf`, `xzf`: what people write before the archive's name.
fn is_letters_of_tar(word: &str) -> bool {
    let letters = word.strip_prefix('-').unwrap_or(word);
    !letters.is_empty() && letters.len() <= 6 && letters.chars().all(|letter| "cxtvfzjJapk".contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser;

    fn hint_for(line: &str) -> Option<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let error = Cli::try_parse_from([&["manyfiles".into()], &words[..]].concat()).unwrap_err();
        hint(&error, &words)
    }

    #[test]
    fn the_letters_of_tar_are_answered_with_the_words_of_unpack_and_list() {
        for line in ["unpack x -xvf", "unpack -xzf a.tgz", "-xvf a.tar", "xvf a.tar", "zxf a.tgz"] {
            assert!(hint_for(line).is_some_and(|hint| hint.contains("manyfiles unpack ARCHIVE")), "{line}");
        }
        for line in ["x -tf a.tar", "-tvf a.tar", "tzf a.tgz"] {
            assert!(hint_for(line).is_some_and(|hint| hint.contains("manyfiles list ARCHIVE")), "{line}");
        }
    }

    #[test]
    fn the_letters_that_make_a_tar_are_answered_with_pack() {
        for line in ["cf a.tar b", "-czf a.tgz b", "cvzf a.tgz b"] {
            assert!(hint_for(line).is_some_and(|hint| hint.contains("manyfiles pack SRC")), "{line}");
        }
    }

    #[test]
    fn what_is_no_letter_of_tar_is_left_to_the_usual_message() {
        for line in ["unpack a.tar --frobnicate", "copy a b -x", "unpck a.tar", "unpack -w a.tar"] {
            assert_eq!(hint_for(line), None, "{line}");
        }
    }

    #[test]
    fn a_file_or_folder_in_the_place_of_a_command_is_told_which_command_it_needs() {
        let temp = tempfile::tempdir().unwrap();
        let archive = temp.path().join("a.tar");
        std::fs::write(&archive, "").unwrap();
        let hint = |path: &Path| hint_for(path.to_str().unwrap()).unwrap_or_default();
        assert!(hint(&archive).contains("manyfiles unpack "), "{}", hint(&archive));
        assert!(hint(temp.path()).contains("manyfiles copy "), "{}", hint(temp.path()));
    }
}
