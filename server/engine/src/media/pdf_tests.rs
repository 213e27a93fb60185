#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;
use crate::testing::pdf_bytes;

/// With a piece put in front of the cross-reference table, whose offset moves along.
fn with(piece: &str) -> Vec<u8> {
    let text = String::from_utf8(pdf_bytes(3)).unwrap();
    let (body, _) = text.rsplit_once("xref\n0 1").unwrap();
    let body = format!("{body}{piece}\n");
    format!("{body}xref\n0 1\n0000000000 65535 f \ntrailer\n<</Root 1 0 R>>\nstartxref\n{}\n%%EOF\n", body.len()).into()
}

fn check(bytes: Vec<u8>, pages: Result<Option<usize>, PdfError>) {
    assert_eq!(Pdf::new(bytes).map(|pdf| pdf.pages()), pages);
}

#[test]
fn pages_are_counted_where_that_is_cheap() {
    check(pdf_bytes(1), Ok(Some(1)));
    check(pdf_bytes(100), Ok(Some(100)));
    check(pdf_bytes(101), Err(PdfError::TooManyPages { pages: 101 }));
    check(with("9 0 obj <</Type/Outlines/Count 500>> endobj"), Ok(Some(3)));
    check(with("9 0 obj <</Count 7 /Kids [] /Type /Pages>> endobj"), Ok(Some(7)));
    let hidden = String::from_utf8(pdf_bytes(3)).unwrap().replace("/Pages", "/Xages");
    check(hidden.clone().into(), Ok(None));
    // The same length, so that the table stays where it is.
    check(
        hidden.replacen("/Type/Catalog", "/Linearized/N 12", 1).replacen("/Xages 2 0 R", "/P 2 0 R ", 1).into(),
        Ok(Some(12)),
    );
}

#[test]
fn what_is_cut_off_or_locked_is_told() {
    let whole = pdf_bytes(2);
    for end in [0, 5, 9, whole.len() / 2, whole.len() - 7] {
        check(whole[..end].to_vec(), Err(PdfError::CutOff));
    }
    check(b"%PDF-1.4\nstartxref\n99999999999999999999999\n%%EOF".to_vec(), Err(PdfError::CutOff));
    check(b"%PDF-1.4\nstartxref\n2\n%%EOF".to_vec(), Err(PdfError::CutOff));
    check(with("<</Encrypt 5 0 R>>"), Err(PdfError::Locked));
    check(with("<</Encrypt<</Filter/Standard>>>>"), Err(PdfError::Locked));
    check(with("<</EncryptMetadata 5>> (an /Encrypt key)"), Ok(Some(3)));
    let large = [pdf_bytes(1), vec![b' '; MAX_PDF_BYTES as usize]].concat();
    check(large.clone(), Err(PdfError::TooLarge { bytes: large.len() as u64 }));
}

/// As many beginnings of objects as fit, and no end of one.
#[test]
fn r21_2_a_file_that_is_made_to_be_slow_is_looked_at_once() {
    let piece = "/Type/Pages ";
    let bytes = with(&piece.repeat((MAX_PDF_BYTES as usize - 4096) / piece.len()));
    check(bytes, Ok(Some(3)));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..600) {
        let _ = Pdf::new([b"%PDF-".as_slice(), &bytes, b"/Type /Pages startxref 5 %%EOF", &bytes].concat());
        let whole = pdf_bytes(2);
        let _ = Pdf::new(whole[..cut.min(whole.len())].to_vec());
    }
}
