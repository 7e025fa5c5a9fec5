//! Takes in an array tile by tile, as an array store does: `vfs_tiles FOLDER-OR-URI [TILES]`, such as `vfs_tiles mem://array`.
//!
//! Each attribute is a file of its own, each tile one write by its name. The tiles come from several threads, so that a file also
//! records which tile is where. At the end everything is synced, and one tile is read back.

use std::error::Error;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use manyfiles::vfs::Vfs;

const ATTRIBUTES: [&str; 3] = ["temperature", "pressure", "humidity"];
const THREADS: usize = 4;
const CELLS: usize = 512;

/// What a sensor might have measured.
fn tile(attribute: usize, tile: usize) -> Vec<u8> {
    (0..CELLS).flat_map(|cell| ((attribute * 1_000_000 + tile * CELLS + cell) as f64).to_le_bytes()).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let array = args.next().ok_or("usage: vfs_tiles FOLDER-OR-URI [TILES]")?;
    let tiles: usize = args.next().map_or(Ok(4_000), |tiles| tiles.parse())?;

    let vfs = Vfs::new();
    vfs.create_folder(&array)?;
    let uri = |attribute: &str| format!("{}/{attribute}.tiles", array.trim_end_matches('/'));
    for attribute in ATTRIBUTES {
        // Begins anew what another run may have left.
        vfs.create_writer(uri(attribute))?.close()?;
    }

    let start = Instant::now();
    for (attribute, name) in ATTRIBUTES.iter().enumerate() {
        // Which tile a file's next one is. The lock orders the tiles; without it they would be as whole, in any order.
        let order = Mutex::new(Vec::with_capacity(tiles));
        thread::scope(|scope| {
            let (vfs, uri, order) = (&vfs, &uri, &order);
            let workers: Vec<_> = (0..THREADS)
                .map(|worker| {
                    scope.spawn(move || {
                        for n in (worker..tiles).step_by(THREADS) {
                            let bytes = tile(attribute, n);
                            let mut order = order.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                            vfs.write(uri(name), &bytes)?;
                            order.push(n as u64);
                        }
                        Ok::<(), manyfiles::Error>(())
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
        })?;
        let order = order.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        let index: Vec<u8> = order.iter().flat_map(|tile| tile.to_le_bytes()).collect();
        let mut writer = vfs.create_writer(uri(name) + ".index")?;
        writer.write_all(&index)?;
        writer.close()?;
        vfs.sync(uri(name))?;
        vfs.sync(uri(name) + ".index")?;
    }
    vfs.wait()?; // whatever did not arrive is named here, at the latest
    let bytes = ATTRIBUTES.len() * tiles * CELLS * 8;
    println!(
        "{tiles} tiles of {} attributes, {} MB, durable in {:?}",
        ATTRIBUTES.len(),
        bytes / 1_000_000,
        start.elapsed()
    );

    for entry in vfs.list(&array)? {
        println!("{:>12} {}", entry.metadata.size, entry.uri.to_string_lossy());
    }
    let wanted = tiles / 2;
    let index = vfs.read(uri(ATTRIBUTES[1]) + ".index")?;
    let place =
        index.chunks_exact(8).position(|tile| tile == (wanted as u64).to_le_bytes()).ok_or("a tile is missing")?;
    let mut found = vec![0; CELLS * 8];
    vfs.read_at(uri(ATTRIBUTES[1]), (place * found.len()) as u64, &mut found)?;
    if found != tile(1, wanted) {
        return Err(format!("tile {wanted} is not what was written").into());
    }
    println!("tile {wanted} of {} is the file's number {place}, and as it was written", ATTRIBUTES[1]);
    Ok(())
}
