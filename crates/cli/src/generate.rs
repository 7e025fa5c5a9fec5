//! Completions and the manual page, from the one definition of the command line.

use std::io;
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::args::Cli;
use crate::report::print_stdout;
use crate::terminal::Screen;

/// Prints a script that completes the command line in `shell`.
pub(crate) fn completions(shell: Shell) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "manyfiles", &mut script);
    print_stdout(&script, 0)
}

/// Prints the manual page.
pub(crate) fn man() -> ExitCode {
    let mut page = Vec::new();
    match write_man(&mut page) {
        Ok(()) => print_stdout(&page, 0),
        Err(error) => {
            Screen::default().say(format_args!("cannot write the manual page: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// One page: the command, then a section for each subcommand.
fn write_man(page: &mut Vec<u8>) -> io::Result<()> {
    let mut command = Cli::command();
    command.build();
    let man = Man::new(command.clone());
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    write_subcommands(&command, "MANYFILES", page)?;
    let mut examples = Vec::new();
    man.render_extra_section(&mut examples)?;
    retitle(&examples, ".SH", page);
    man.render_version_section(page)
}

/// A section for each command below `command`, and for each below those.
fn write_subcommands(command: &Command, above: &str, page: &mut Vec<u8>) -> io::Result<()> {
    for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help") {
        let name = format!("{above} {}", subcommand.get_name().to_uppercase());
        write_subcommand(subcommand, &name, page)?;
        write_subcommands(subcommand, &name, page)?;
    }
    Ok(())
}

fn write_subcommand(subcommand: &Command, name: &str, page: &mut Vec<u8>) -> io::Result<()> {
    let man = Man::new(subcommand.clone());
    page.extend(format!(".SH \"{name}\"\n").bytes());
    let mut sections = Vec::new();
    man.render_synopsis_section(&mut sections)?;
    man.render_description_section(&mut sections)?;
    man.render_options_section(&mut sections)?;
    man.render_extra_section(&mut sections)?;
    retitle(&sections, ".SS", page);
    Ok(())
}

/// Makes `heading` of each section's heading, and calls the text after the options what it holds.
fn retitle(sections: &[u8], heading: &str, page: &mut Vec<u8>) {
    for line in String::from_utf8_lossy(sections).lines() {
        let line = match line.strip_prefix(".SH ") {
            Some("EXTRA") => format!("{heading} EXAMPLES"),
            Some(title) => format!("{heading} {title}"),
            None => line.to_string(),
        };
        page.extend(line.bytes());
        page.push(b'\n');
    }
}
