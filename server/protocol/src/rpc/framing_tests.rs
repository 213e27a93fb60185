//! However the bytes are split, the same frames come out. What the frames are is told by the tests of the connection.

use proptest::prelude::*;

use super::*;

/// Frames good and bad, and what may stand between them.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let body = prop_oneof![
        Just(String::new()),
        "[a-zé😀{}\":,\\[\\]\n\r ]{0,60}",
        Just("Content-Length: 5".to_owned()),
        "x{4090,4110}"
    ];
    let piece = prop_oneof![
        4 => body.clone().prop_map(|body| format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()),
        1 => body.clone().prop_map(|body| format!("content-length:{}\nX: y\n\n{body}", body.len()).into_bytes()),
        2 => body.prop_map(|body| format!("{body}\n").into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..40),
        1 => (0_usize..40).prop_map(|length| format!("Content-Length: {length}\r\n\r\n").into_bytes()),
        1 => prop::sample::select(vec![
            "\r\n", "\u{feff}", "Content-Type: a\r\n\r\n", "Content-Length: x\r\n", "Content-Length: 99999999\r\n\r\n",
            "a: b", "Content-", "Length: 3"
        ]).prop_map(|text| text.as_bytes().to_vec()),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn c99_any_split_of_the_bytes_gives_the_same_frames(
        stream in stream(),
        sizes in prop::collection::vec(0_u8..50, 1..16),
    ) {
        let data = [&[sizes.len() as u8], sizes.as_slice(), stream.as_slice()].concat();
        fuzz::check(Framing::ContentLength, &data);
        fuzz::check(Framing::Lines, &data);
    }

    #[test]
    fn c99_any_bytes_at_all_are_taken(data in prop::collection::vec(any::<u8>(), 0..300)) {
        fuzz::check(Framing::ContentLength, &data);
        fuzz::check(Framing::Lines, &data);
    }

    #[test]
    fn c99_what_is_encoded_is_decoded(bodies in prop::collection::vec("[^\r\n]{1,200}", 0..10)) {
        let bodies: Vec<String> = bodies.into_iter().map(|body| format!("{{{body}")).collect();
        let expected: Vec<Frame> = bodies.iter().map(|body| Frame::Body(body.clone().into_bytes())).collect();
        for framing in [Framing::ContentLength, Framing::Lines] {
            let bytes: Vec<u8> = bodies.iter().flat_map(|body| framing.encode(body.as_bytes())).collect();
            let (mut decoder, mut input) = (Decoder::new(framing), bytes.as_slice());
            let decoded: Vec<Frame> = std::iter::from_fn(|| decoder.decode(&mut input)).collect();
            prop_assert_eq!(&decoded, &expected);
        }
    }
}
