//! Collects lines over TCP and answers each one when it is durable: `log_collector FILE [ADDRESS]`.
//!
//! Without an address it serves clients of its own: 16 that send 2,000 lines each, then it reads back what is in the files.
//! With one (such as 127.0.0.1:5140) it serves until it is killed; try `nc 127.0.0.1 5140`, kill it, start it again.
//!
//! Lines go to `FILE.000001`, `FILE.000002` and so on, framed, 1 MiB each. All connections share one appender, and so their syncs.

use std::error::Error;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Instant;

use manyfiles::appender::{Appender, Receipt, Records};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// How many lines of one connection may wait for their answers.
const IN_FLIGHT: usize = 1_000;

const CLIENTS: usize = 16;
const LINES: usize = 2_000;

fn main() -> Result<()> {
    let mut args = std::env::args_os().skip(1);
    let file = args.next().ok_or("usage: log_collector FILE [ADDRESS]")?;
    let file = Path::new(&file);
    // What a crash tore is set aside here; everything that was answered is there.
    let appender = Appender::options().framed(true).rotate_bytes(1 << 20).open(file)?;
    let recovery = appender.recovery();
    println!("{} lines in the newest file, {} bytes of a torn one set aside", recovery.records, recovery.torn_bytes);

    match args.next() {
        Some(address) => {
            let listener = TcpListener::bind(address.to_str().ok_or("ADDRESS is text")?)?;
            println!("listening on {}", listener.local_addr()?);
            thread::scope(|scope| {
                for connection in listener.incoming() {
                    let appender = &appender;
                    scope.spawn(move || report(connection.map_err(Into::into).and_then(|it| serve(appender, it))));
                }
            });
        }
        None => show(&appender)?,
    }
    appender.close()?;

    let lines = Records::open(file)?.collect::<manyfiles::Result<Vec<_>>>()?;
    println!("{} lines in all files", lines.len());
    Ok(())
}

/// Takes lines from one connection and answers each with its number, in their order, once it is durable.
fn serve(appender: &Appender, connection: TcpStream) -> Result<()> {
    let answers = connection.try_clone()?;
    // A client that does not read its answers, or a slow disk, stops this one's reading and nobody else's.
    let (durable, receipts) = sync_channel(IN_FLIGHT);
    thread::scope(|scope| {
        let answering = scope.spawn(move || answer(receipts, answers));
        let mut lines = BufReader::new(connection);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line)? > 0 {
            let receipt = appender.append(line.trim_ascii_end())?;
            line.clear();
            if durable.send(receipt).is_err() {
                break; // why, the other thread says
            }
        }
        drop(durable);
        answering.join().map_err(|_| "answering panicked")?
    })
}

fn answer(receipts: Receiver<Receipt>, connection: TcpStream) -> Result<()> {
    let mut answers = BufWriter::new(connection);
    for (number, receipt) in receipts.iter().enumerate() {
        // Most often the first of many pays for a sync, and the others find themselves durable.
        if let Err(error) = receipt.wait_durable() {
            writeln!(answers, "error {error}")?;
            answers.flush()?;
            return Err(error.into());
        }
        writeln!(answers, "durable {number}")?;
        answers.flush()?;
    }
    Ok(())
}

fn report(result: Result<()>) {
    if let Err(error) = result {
        eprintln!("a connection ended: {error}");
    }
}

/// Serves clients of its own.
fn show(appender: &Appender) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let start = Instant::now();
    thread::scope(|scope| -> Result<()> {
        let clients: Vec<_> =
            (0..CLIENTS).map(|client| scope.spawn(move || send(client, TcpStream::connect(address)?))).collect();
        for _ in 0..CLIENTS {
            let (connection, _) = listener.accept()?;
            scope.spawn(move || report(serve(appender, connection)));
        }
        clients.into_iter().try_for_each(|client| client.join().map_err(|_| "a client panicked")?)
    })?;
    println!("{} lines of {CLIENTS} clients durable and answered in {:?}", CLIENTS * LINES, start.elapsed());
    Ok(())
}

/// One client: sends its lines and counts the answers.
fn send(client: usize, connection: TcpStream) -> Result<()> {
    let answers = BufReader::new(connection.try_clone()?);
    thread::scope(|scope| {
        let counting = scope.spawn(move || -> Result<usize> {
            let mut durable = 0;
            for line in answers.lines().take(LINES) {
                match line?.split_once(' ') {
                    Some(("durable", _)) => durable += 1,
                    other => return Err(format!("the collector says {other:?}").into()),
                }
            }
            Ok(durable)
        });
        let mut lines = BufWriter::new(connection);
        for n in 0..LINES {
            writeln!(lines, "client {client} has done its task number {n}")?;
        }
        lines.flush()?;
        let durable = counting.join().map_err(|_| "counting panicked")??;
        if durable == LINES { Ok(()) } else { Err(format!("{durable} of {LINES} lines were answered").into()) }
    })
}
