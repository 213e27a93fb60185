use serde_json::{Value, json};

use crate::media::Media;
use crate::permission::Verdict;
use crate::ports::OptionKind;
use crate::testing::{pdf_bytes, png, png_bytes};
use crate::workbench::Bench;

fn read(file: &str) -> Value {
    json!({ "filePath": file })
}

#[tokio::test]
async fn r10_1_an_image_is_shown_and_named_by_kind_and_size() {
    let bench = Bench::new();
    bench.put("/w/shot.txt", png_bytes(640, 480));
    let outcome = bench.call("read", read("shot.txt")).await;
    assert_eq!(
        outcome.result.text,
        "<path>/w/shot.txt</path>\n<type>image</type>\nPNG image, 640 × 480 pixels, 57 bytes."
    );
    let image = Media::Image(png(640, 480));
    assert_eq!((outcome.view.media, outcome.result.media), (vec![image.clone()], vec![image.part()]));
    assert_eq!(outcome.result.metadata, json!({"mime": "image/png", "size": 57}));
    assert_eq!(outcome.result.seen, [], "nothing that `write` could replace");
}

#[tokio::test]
async fn a_document_is_shown_though_it_is_plain_text_to_its_last_byte() {
    let bench = Bench::new();
    bench.put("/w/a.pdf", pdf_bytes(3));
    let outcome = bench.call("read", read("a.pdf")).await;
    let size = pdf_bytes(3).len();
    let expected = format!("<path>/w/a.pdf</path>\n<type>pdf</type>\nPDF, 3 pages, {size} bytes.");
    assert_eq!(outcome.result.text, expected);
    assert!(matches!(&outcome.view.media[..], [Media::Pdf(_)]));
}

/// What cannot be sent is told in words, and no session ever holds it.
#[tokio::test]
async fn what_is_damaged_or_too_large_is_told_in_words() {
    let mut bench = Bench::new();
    bench.config.max_image_base64_bytes = 80;
    let heavy = [png_bytes(2, 2), vec![0; 40]].concat();
    let pages = pdf_bytes(101);
    let cut = pages[..200].to_vec();
    let locked = [b"%PDF-1.7\n<</Encrypt 5 0 R>>\n".as_slice(), &pdf_bytes(1)].concat();
    let files: [(&str, Vec<u8>, &str); 6] = [
        ("cut.png", png_bytes(2, 2)[..20].to_vec(), "/w/cut.png (PNG image) is not shown: it is damaged or cut off"),
        ("wide.png", png_bytes(9000, 2), "/w/wide.png (PNG image) is not shown: it is 9000 × 2 pixels large"),
        (
            "heavy.png",
            heavy,
            "/w/heavy.png (PNG image) is not shown: it takes 132 bytes in base64, and the limit is 80",
        ),
        (
            "long.pdf",
            pages,
            "/w/long.pdf (PDF) is not shown: it has 101 pages, and models take 100 at most. A command such as",
        ),
        ("cut.pdf", cut, "/w/cut.pdf (PDF) is not shown: it is damaged or cut off"),
        ("locked.pdf", locked, "/w/locked.pdf (PDF) is not shown: it is "),
    ];
    for (name, bytes, said) in files {
        bench.put(&format!("/w/{name}"), bytes);
        let outcome = bench.call("read", read(name)).await;
        assert!(outcome.result.text.starts_with(said), "{}", outcome.result.text);
        assert_eq!((outcome.view.media, outcome.result.media), (vec![], vec![]));
    }
}

#[tokio::test]
async fn c41_a_binary_file_is_described_and_not_dumped() {
    let bench = Bench::new();
    let said = async |bytes: &[u8]| {
        bench.put("/w/a", bytes);
        bench.failed("read", read("a")).await
    };
    assert_eq!(
        said(b"\x7fELF\x02\x01\x01\0\0").await,
        "/w/a cannot be read as text: the file is binary (an ELF program or library, 9 bytes). It is not shown; a command such as `file`, `strings`, `xxd` or a program of its own kind tells more."
    );
    assert!(said(b"SQLite format 3\0\0\0").await.contains("(a SQLite database, 18 bytes)"));
    assert!(said(b"PK\x03\x04\0\0\0\0").await.contains("(a ZIP archive or a format made of one, 8 bytes)"));
    assert!(said(b"\0\x01\x02\x03").await.contains("the file is binary (4 bytes)"));
}

#[tokio::test]
async fn c61_an_image_that_is_asked_for_is_not_looked_at_before_the_answer() {
    let bench = Bench::new().rule("read", "*", Verdict::Ask);
    bench.put("/w/a.png", png_bytes(2, 3));
    let (outcome, ()) = tokio::join!(bench.call("read", read("a.png")), async {
        bench.client.next_ask().await.select(OptionKind::RejectOnce, None);
    });
    assert_eq!(outcome.view.media, []);
    assert!(!outcome.result.text.contains("pixels"), "{}", outcome.result.text);
}

#[tokio::test]
async fn c25_an_open_document_is_text_whatever_the_file_holds() {
    let bench = Bench::new();
    bench.put("/w/a.pdf", pdf_bytes(1));
    bench.open("/w/a.pdf", 1, "%PDF-1.4 as I write it\n");
    let text = bench.done("read", read("a.pdf")).await;
    assert!(text.contains("1: %PDF-1.4 as I write it\n"), "{text}");
}
