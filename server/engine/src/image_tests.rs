#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::testing::png;

/// The smallest that decoders take: one pixel, or a frame without one.
const GIF: &[u8] =
    b"GIF89a\x02\0\x03\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\0\0\0\0\0,\0\0\0\0\x02\0\x03\0\0\x02\x02\x44\x01\0;";
const JPEG: &[u8] = b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xc0\0\x0b\x08\0\x03\0\x02\x01\x01\x11\0\xff\xda\0\x08\x01\x01\0\0\x3f\0\x00\xff\xd9";
const WEBP: &[u8] = b"RIFF\x1e\0\0\0WEBPVP8L\x11\0\0\0\x2f\x01\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

#[test]
fn the_bytes_say_what_it_is() {
    let png = png(2, 3);
    for (bytes, kind) in
        [(png.bytes(), ImageType::Png), (JPEG, ImageType::Jpeg), (GIF, ImageType::Gif), (WEBP, ImageType::Webp)]
    {
        let image = Image::new(bytes).unwrap();
        assert_eq!((image.kind(), image.bytes()), (kind, bytes));
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.mime());
    }
    for other in [&b""[..], b"\x89", b"text", b"BM\x46\0\0\0\0\0\0\0", b"<svg/>", b"%PDF-1.7", b"RIFF\0\0\0\0WAVE"] {
        assert_eq!(Image::new(other), Err(ImageError::Unknown), "{other:?}");
    }
}

/// A provider that refuses one refuses every further request of its session.
#[test]
fn r2_1_no_image_cut_anywhere_is_taken_for_whole_or_panics() {
    let png = png(2, 3);
    for whole in [png.bytes(), JPEG, GIF, WEBP] {
        assert!(Image::new(whole).is_ok(), "{whole:?}");
        for len in 0..whole.len() {
            assert!(Image::new(&whole[..len]).is_err(), "{len} bytes of {whole:?}");
        }
        let padded = [whole, b"\0\0\r\n"].concat();
        assert!(Image::new(padded).is_ok(), "what stands behind the end does no harm: {whole:?}");
    }
}

/// A camera's picture holds a small one with an end of its own, before the scan of the large one.
#[test]
fn the_end_of_a_thumbnail_is_not_the_end_of_the_picture() {
    let thumbnail = [b"\xff\xe1".as_slice(), &(2 + u16::try_from(JPEG.len()).unwrap()).to_be_bytes(), JPEG].concat();
    let whole = [&JPEG[..2], &thumbnail, &JPEG[2..]].concat();
    assert!(Image::new(whole.clone()).is_ok());
    assert_eq!(Image::new(&whole[..whole.len() - 2]), Err(ImageError::Damaged));
}

#[test]
fn an_image_without_pixels_is_damaged() {
    let png = crate::testing::png_bytes(2, 3);
    let empty = [&png[..33], &png[png.len() - 12..]].concat();
    assert_eq!(Image::new(empty), Err(ImageError::Damaged));
    assert_eq!(Image::new(b"GIF89a\x02\0\x03\0\0\0\0;".as_slice()), Err(ImageError::Damaged));
}

#[test]
fn what_no_provider_takes_is_refused_with_the_numbers() {
    assert!(matches!(Image::new(png_bytes(0, 3)), Err(ImageError::Damaged)));
    let wide = Image::new(png_bytes(8001, 3)).unwrap_err();
    assert_eq!(wide, ImageError::TooManyPixels { width: 8001, height: 3 });
    assert!(wide.to_string().contains("8001 × 3") && wide.to_string().contains("8000"));
    let image = png(8000, 8000);
    let sent = (image.bytes().len() as u64).div_ceil(3) * 4;
    assert_eq!(image.check_size(sent), Ok(()));
    let large = image.check_size(sent - 1).unwrap_err();
    assert_eq!(large, ImageError::TooLarge { bytes: sent, limit: sent - 1 });
    assert!(large.to_string().contains("attachment.image.max_base64_bytes"));
}

fn png_bytes(width: u32, height: u32) -> Vec<u8> {
    crate::testing::png_bytes(width, height)
}

#[test]
fn a_prompt_keeps_an_image_once_however_often_it_is_shown() {
    let mut prompt = Prompt::default();
    assert!(prompt.says_nothing());
    prompt.push_image(png(1, 1), None);
    prompt.push_image(png(1, 1), Some("file:///again.png".to_owned()));
    assert!(!prompt.says_nothing());
    assert_eq!((prompt.parts().len(), prompt.images().len()), (2, 1));
    assert!(!format!("{prompt:?}").contains("137"), "no bytes in what may be logged: {prompt:?}");
}
