//! Files that are named on the command line, as pieces of the prompt: images to be looked at, text to be read, folders by their name. The user has named
//! them, so nobody is asked.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use copydesk_engine::image::{Image, ImageType, Prompt};
use copydesk_engine::message::PromptPart;
use copydesk_workspace::encoding;
use copydesk_workspace::path::AbsPath;
use copydesk_workspace::uri::uri_from_path;

use super::INPUT_LIMIT;

/// More than any configuration lets an image be, in bytes.
const IMAGE_LIMIT: u64 = 64 * 1024 * 1024;

/// Adds the file to the prompt. Blocks. The error is a sentence for the user.
pub(super) fn attach(prompt: &mut Prompt, folder: &AbsPath, path: &Path) -> Result<(), String> {
    let path = folder.join(path);
    let cannot = |error: &dyn std::fmt::Display| format!("{path} cannot be given to the model: {error}.");
    let uri = uri_from_path(&path);
    // Before it is opened: that alone waits, with a pipe that nobody writes into.
    let metadata = fs::metadata(path.as_path()).map_err(|error| cannot(&error))?;
    if metadata.is_dir() {
        let name = if path.name().is_empty() { path.to_string() } else { path.name() };
        prompt.push(PromptPart::Link { uri, name });
        return Ok(());
    }
    if !metadata.is_file() {
        // A pipe might never end.
        return Err(cannot(&"it is no ordinary file; what a command prints can be given by standard input"));
    }
    let file = File::open(path.as_path()).map_err(|error| cannot(&error))?;
    let bytes = read(file).map_err(|error| cannot(&error))?;
    if bytes.len() as u64 > IMAGE_LIMIT {
        return Err(cannot(&format!("it holds more than {} MiB", IMAGE_LIMIT >> 20)));
    }
    if ImageType::of(&bytes).is_some() {
        prompt.push_image(Image::new(bytes).map_err(|error| cannot(&error))?, Some(uri));
        return Ok(());
    }
    if bytes.len() as u64 > INPUT_LIMIT {
        let limit = INPUT_LIMIT >> 20;
        return Err(cannot(&format!(
            "it holds more than {limit} MiB; name it in the prompt instead, and it is read in parts"
        )));
    }
    let (text, _) = encoding::decode(&bytes).map_err(|error| cannot(&error))?;
    prompt.push(PromptPart::Resource { uri, text: text.into_owned() });
    Ok(())
}

/// At most one byte more than is ever taken.
fn read(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(IMAGE_LIMIT + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    /// Chunks with a size and an end, which is all that is looked at.
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03\x08\x06\0\0\0\0\0\0\0\0\0\0\0IDAT\0\0\0\0\0\0\0\0IEND\xaeB`\x82";

    #[test]
    fn a_file_is_what_its_bytes_say() {
        let temp = tempfile::tempdir().unwrap();
        let folder = AbsPath::new(temp.path().canonicalize().unwrap()).unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name).as_path(), bytes).unwrap();
        let attached = |name: &str| {
            let mut prompt = Prompt::default();
            attach(&mut prompt, &folder, Path::new(name)).map(|()| prompt)
        };
        write("shot.txt", PNG);
        let prompt = attached("shot.txt").unwrap();
        assert!(
            matches!(&prompt.parts()[0], PromptPart::Image { kind: ImageType::Png, uri: Some(uri), .. } if uri.ends_with("/shot.txt"))
        );
        assert_eq!(prompt.images()[0].bytes(), PNG);

        write("notes.png", "\u{feff}héllo\n".as_bytes());
        assert!(
            matches!(&attached("notes.png").unwrap().parts()[0], PromptPart::Resource { text, .. } if text == "héllo\n")
        );

        std::fs::create_dir(folder.join("src").as_path()).unwrap();
        assert!(matches!(&attached("src").unwrap().parts()[0], PromptPart::Link { name, .. } if name == "src"));

        assert!(matches!(&attached("/").unwrap().parts()[0], PromptPart::Link { name, .. } if name == "/"));

        write("a.bin", &[0, 1, 2, 0, 255]);
        write("huge.png", PNG);
        let huge = std::fs::File::options().write(true).open(folder.join("huge.png").as_path()).unwrap();
        huge.set_len(IMAGE_LIMIT + 1).unwrap();
        write("long.txt", &vec![b'x'; usize::try_from(INPUT_LIMIT).unwrap() + 1]);
        write("cut.png", &PNG[..20]);
        for (name, reason) in [
            ("a.bin", "the file is binary"),
            ("long.txt", "it holds more than 4 MiB"),
            ("cut.png", "damaged or cut off"),
            ("huge.png", "it holds more than 64 MiB"),
            ("gone.txt", "No such file"),
            ("/dev/null", "no ordinary file"),
        ] {
            let refused = attached(name).unwrap_err();
            assert!(refused.contains(name) && refused.contains(reason), "{refused}");
        }
    }
}
