//! `under-wine SCENE WHO FOLDER COUNT`: plays a scene on files in FOLDER, and leaves one figure there, in a file of that name.
//!
//! WHO is `manyfiles`, `close-already` or `std`. Close_already does not say when its pool has closed all; where that is to be known,
//! it is given files that count their drops.

#[cfg(windows)]
mod counted;
#[cfg(windows)]
mod scenes;

#[cfg(windows)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use scenes::Who;

    let given: Vec<String> = std::env::args().skip(1).collect();
    let [scene, who, folder, count] = &given[..] else {
        return Err("usage: under-wine SCENE WHO FOLDER COUNT".into());
    };
    let (who, folder, count) = (Who::named(who)?, std::path::Path::new(folder), count.parse()?);
    std::fs::create_dir_all(folder)?;
    let figure = match scene.as_str() {
        "reopen" => scenes::reopen(who, folder, count).to_string(),
        "remove" => scenes::remove(who, folder, count).to_string(),
        "files" => scenes::files(who, folder, count)?.as_secs_f64().to_string(),
        "burst" => scenes::burst(who, folder, count)?.to_string(),
        "errors" => scenes::errors(who, folder, count)?.to_string(),
        // Its figure is the length of its log when the process is gone.
        "end" => return scenes::end(who, folder, count),
        _ => return Err(format!("there is no scene {scene}").into()),
    };
    Ok(std::fs::write(folder.join("figure"), figure)?)
}

#[cfg(not(windows))]
fn main() {
    eprintln!("off Windows close_already does nothing that could be compared");
    std::process::exit(1);
}
