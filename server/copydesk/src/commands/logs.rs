//! `copydesk logs`: where the log is, and its lines as they come. Writing it is `log`'s.

use std::io::{self, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use tokio::fs::File;
use tokio::io::AsyncReadExt as _;

use super::Surroundings;
use crate::log;

/// Between two looks at the file, in a command that someone watches.
const PAUSE: Duration = Duration::from_millis(200);

pub fn print_path(at: &Surroundings, out: &mut dyn Write) -> io::Result<ExitCode> {
    writeln!(out, "{}", log::path(at.environment()).display())?;
    Ok(ExitCode::SUCCESS)
}

/// What the log holds and what is added to it, until the reader has enough.
pub async fn follow(at: &Surroundings, out: &mut (dyn Write + Send)) -> io::Result<ExitCode> {
    let path = log::path(at.environment());
    let mut open: Option<File> = None;
    let mut buffer = Vec::new();
    loop {
        if open.is_none() {
            open = File::open(&path).await.ok();
        }
        if let Some(file) = &mut open {
            buffer.clear();
            file.read_to_end(&mut buffer).await?;
            if let Err(error) = out.write_all(&buffer).and_then(|()| out.flush()) {
                return if error.kind() == io::ErrorKind::BrokenPipe { Ok(ExitCode::SUCCESS) } else { Err(error) };
            }
            if buffer.is_empty() && was_put_aside(file, &path).await? {
                open = None;
                continue;
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn was_put_aside(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata().await?.ino();
    Ok(tokio::fs::metadata(path).await.map_or(true, |there| there.ino() != ours))
}
