//! Runs a command in a folder where each close takes so long: `slow_mount MILLISECONDS COMMAND ARGUMENT…`. The folder
//! is gone afterwards.

#[cfg(target_os = "linux")]
fn main() -> Result<std::process::ExitCode, Box<dyn std::error::Error>> {
    use std::process::{Command, ExitCode};
    use std::time::Duration;

    use manyfiles_testkit::{Need, Op, SlowMount};

    let mut given = std::env::args_os().skip(1);
    let (Some(delay), Some(program)) = (given.next(), given.next()) else {
        return Err("usage: slow_mount MILLISECONDS COMMAND ARGUMENT…".into());
    };
    let delay = Duration::from_millis(delay.to_str().ok_or("not a number of milliseconds")?.parse()?);
    if let Err(why) = Need::Fuse.check() {
        println!("skipped: a mount with slow closes: {why}");
        return Ok(ExitCode::SUCCESS);
    }
    let mount = SlowMount::options().delay(Op::Close, delay).mount()?;
    let status = Command::new(program).args(given).current_dir(mount.path()).status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("a SlowMount needs Linux");
    std::process::exit(1);
}
