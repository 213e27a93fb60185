#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::ids::PartId;
use crate::testing::{check_messages, pdf, png};

const ALL: Takes = Takes { images: true, documents: true };
static NOTHING: BTreeMap<ContentHash, Media> = BTreeMap::new();
static NONE: BTreeSet<ContentHash> = BTreeSet::new();
const BLIND: Sight<'static> =
    Sight { takes: Takes { images: false, documents: false }, held: &NOTHING, refused: &NONE };

fn model(name: &str) -> ModelRef {
    ModelRef { provider: "p".to_owned(), model: name.to_owned() }
}

fn msg(id: u8) -> MessageId {
    MessageId::new(format!("m{id}"))
}

fn user(text: &str) -> Entry {
    let parts = vec![PromptPart::Text { text: text.to_owned() }];
    Entry::User { message: msg(0), at: Millis(0), agent: "build".to_owned(), parts }
}

fn started(id: u8, by: &str) -> Entry {
    Entry::StepStarted { message: msg(id), at: Millis(0), agent: "build".to_owned(), model: model(by) }
}

fn text(id: u8, text: &str) -> Entry {
    Entry::Text { message: msg(id), part: PartId::new("t"), text: text.to_owned() }
}

fn reasoning(id: u8, text: &str, signature: Option<&str>) -> Entry {
    Entry::Reasoning {
        message: msg(id),
        part: PartId::new("r"),
        text: text.to_owned(),
        signature: signature.map(str::to_owned),
    }
}

fn call(id: u8, call: &str, name: &str, input: Value) -> Entry {
    Entry::ToolCall { message: msg(id), call: CallId::new(call), provider_id: None, name: name.to_owned(), input }
}

fn result(call: &str, text: &str, status: ToolStatus) -> Entry {
    let result = ToolResult { status, text: text.to_owned(), ..interrupted_result() };
    Entry::ToolResult { call: CallId::new(call), at: Millis(0), result }
}

/// A result that shows something.
fn shown_result(call: &str, text: &str, media: &[Media]) -> Entry {
    let media = media.iter().map(Media::part).collect();
    let result = ToolResult { status: ToolStatus::Completed, text: text.to_owned(), media, ..interrupted_result() };
    Entry::ToolResult { call: CallId::new(call), at: Millis(0), result }
}

fn ended(id: u8) -> Entry {
    Entry::StepEnded { message: msg(id), at: Millis(0), usage: Usage::default(), finish: Finish::Stop }
}

/// A text in quotes, an image as its size.
fn said(content: &[Content]) -> String {
    let piece = |piece: &Content| match piece {
        Content::Text(text) => format!("{text:?}"),
        Content::Image(image) => format!("{} bytes of {}", image.bytes().len(), image.kind().mime()),
        Content::Pdf(pdf) => format!("{} bytes of PDF", pdf.bytes().len()),
    };
    content.iter().map(piece).collect::<Vec<_>>().join(" + ")
}

/// A user who shows images between texts; of an empty text nothing is left.
fn shows(pieces: &[&str], image: &crate::image::Image) -> Entry {
    let mut prompt = crate::image::Prompt::default();
    for &piece in pieces {
        match piece {
            "image" => prompt.push_image(image.clone(), Some("file:///shot.png".to_owned())),
            text => prompt.push(PromptPart::Text { text: text.to_owned() }),
        }
    }
    let parts = prompt.split().0;
    Entry::User { message: msg(0), at: Millis(0), agent: "build".to_owned(), parts }
}

/// The conversation in one line a block.
fn show(entries: &[Entry]) -> String {
    let messages = conversation(entries, &model("a"), BLIND);
    check_messages(&messages).unwrap();
    let mut out = String::new();
    for message in messages {
        match message {
            ModelMessage::User(content) => out.push_str(&format!("user: {}\n", said(&content))),
            ModelMessage::Assistant(blocks) => {
                for block in blocks {
                    let line = match block {
                        AssistantBlock::Text(text) => format!("  text: {text:?}\n"),
                        AssistantBlock::Reasoning { text, signature } => format!("  thinks: {text:?} {signature:?}\n"),
                        AssistantBlock::Call { id, name, input } => format!("  call {id}: {name} {input}\n"),
                    };
                    out.push_str(&line);
                }
            }
            ModelMessage::Results(results) => {
                for ResultBlock { id, content, is_error } in results {
                    let [Content::Text(text)] = &content[..] else { panic!("{content:?}") };
                    let text: String = text.chars().take(24).collect();
                    out.push_str(&format!("  result {id}: {text:?}{}\n", if is_error { " (error)" } else { "" }));
                }
            }
        }
    }
    out
}

#[test]
fn r2_1_each_call_has_one_result_directly_after_it() {
    let entries = [
        user("go"),
        started(1, "a"),
        text(1, "I look."),
        call(1, "c1", "read", json!({"path": "x"})),
        call(1, "c2", "read", json!({})),
        user("and this"),
        result("orphan", "nobody asked", ToolStatus::Completed),
        result("c1", "one", ToolStatus::Completed),
        result("c1", "one again", ToolStatus::Completed),
        started(2, "a"),
    ];
    insta::assert_snapshot!(show(&entries), @r#"
    user: "go"
      text: "I look."
      call c1: read {"path":"x"}
      call c2: read {}
      result c1: "one"
      result c2: "This call was cancelled " (error)
    user: "and this"
    "#);
}

#[test]
fn r2_1_empty_and_foreign_things_are_left_out_or_made_valid() {
    let entries = [
        started(1, "b"),
        reasoning(1, "hm", Some("sig of b")),
        reasoning(1, " ", Some("sig of b")),
        text(1, " \n"),
        call(1, "", "functions.read", json!("{\"path\":")),
        result("", " ", ToolStatus::Completed),
        ended(1),
        user(" "),
        user("a"),
        user("b"),
        started(2, "a"),
        reasoning(2, "only thought", None),
        started(3, "a"),
        reasoning(3, "so", Some("sig of a")),
        text(3, "partial"),
        started(4, "a"),
        text(4, "answer"),
        ended(4),
    ];
    insta::assert_snapshot!(show(&entries), @r#"
    user: "Continue."
      thinks: "hm" None
      call call: functions_read {"value":"{\"path\":"}
      result call: "(no output)"
    user: "a\n\nb"
      thinks: "so" Some("sig of a")
      text: "partial"
      text: "answer"
    user: "Continue."
    "#);
}

#[test]
fn c87_equal_and_empty_ids_become_unique_and_keep_their_results() {
    let entries = [
        user("go"),
        started(1, "a"),
        call(1, "call_1", "x", json!({})),
        call(1, "call_1", "y", json!({})),
        call(1, "", "z", json!({})),
        result("call_1", "of x", ToolStatus::Completed),
        result("call_1", "of y", ToolStatus::Completed),
        result("", "of z", ToolStatus::Completed),
        started(2, "a"),
        call(2, "call_1", "w", json!({})),
        result("call_1", "of w", ToolStatus::Failed),
    ];
    insta::assert_snapshot!(show(&entries), @r#"
    user: "go"
      call call_1: x {}
      call call_1_2: y {}
      call call: z {}
      result call_1: "of x"
      result call_1_2: "of y"
      result call: "of z"
      call call_1_3: w {}
      result call_1_3: "of w" (error)
    "#);
}

#[test]
fn r12_4_an_interrupted_turn_is_closed_with_what_is_missing() {
    let open = [user("go"), started(1, "a"), call(1, "c1", "x", json!({})), call(1, "c2", "y", json!({}))];
    let answered = [&open[..], &[result("c1", "ok", ToolStatus::Completed)]].concat();
    let closing = close_interrupted(&answered, Millis(9));
    assert_eq!(
        closing,
        vec![
            Entry::ToolResult { call: CallId::new("c2"), at: Millis(9), result: interrupted_result() },
            Entry::StepEnded { message: msg(1), at: Millis(9), usage: Usage::default(), finish: Finish::Cancelled },
            Entry::TurnEnded { at: Millis(9), reason: TurnEnd::Interrupted },
        ]
    );
    assert_eq!(close_interrupted(&[answered, closing].concat(), Millis(10)), vec![]);
    assert_eq!(close_interrupted(&[], Millis(10)), vec![]);
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just(" \n".to_owned()), Just("é".to_owned()), "[a-z ]{1,8}"]
}

fn any_id() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("call_1".to_owned()),
        Just("call_1_2".to_owned()),
        Just("a b".to_owned()),
        "[a-c]"
    ]
}

#[test]
fn images_stand_where_the_user_has_put_them() {
    let (image, lost) = (png(2, 3), png(4, 5));
    let entries = [
        shows(&["What is", "image", " ", "image", "and", "this?"], &image),
        started(1, "a"),
        text(1, "A cat."),
        shows(&["image"], &lost),
        shows(&["Sorry:", "image"], &image),
    ];
    let held = BTreeMap::from([(image.hash(), image.clone().into())]);
    let messages = conversation(&entries, &model("a"), Sight { takes: ALL, held: &held, refused: &NONE });
    check_messages(&messages).unwrap();
    let users = messages.iter().filter_map(|message| match message {
        ModelMessage::User(content) => Some(said(content)),
        _ => None,
    });
    insta::assert_snapshot!(users.collect::<Vec<_>>().join("\n"), @r#"
    "What is" + 57 bytes of image/png + 57 bytes of image/png + "and\n\nthis?"
    "[The user gave an image here (image/png, 57 bytes from file:///shot.png). It is lost: ask the user for it again, if you need it.]\n\nSorry:" + 57 bytes of image/png
    "#);
    assert_eq!(named_media(&entries, ALL), BTreeSet::from([image.hash(), lost.hash()]));
}

#[test]
fn a_model_that_takes_no_images_is_told_of_them_in_words() {
    let entries = [shows(&["What is this?", "image"], &png(2, 3))];
    insta::assert_snapshot!(show(&entries), @r#"user: "What is this?\n\n[The user gave an image here (image/png, 57 bytes from file:///shot.png). It is not shown to you, since you take no images. Tell the user so, where what is asked depends on it.]""#);
}

/// The last result of a conversation in which one shows an image, a document and a second image that is lost.
fn last_result(takes: Takes) -> String {
    let (image, document) = (png(2, 3), pdf(1));
    let entries = [
        user("go"),
        started(1, "a"),
        call(1, "c1", "read", json!({})),
        shown_result("c1", "read", &[image.clone().into(), Media::Pdf(document.clone()), png(4, 5).into()]),
    ];
    let held = BTreeMap::from([(image.hash(), image.into()), (document.hash(), Media::Pdf(document))]);
    let messages = conversation(&entries, &model("a"), Sight { takes, held: &held, refused: &NONE });
    check_messages(&messages).unwrap();
    let Some(ModelMessage::Results(results)) = messages.last() else { panic!("{messages:?}") };
    said(&results[0].content)
}

#[test]
fn what_results_show_stands_in_them_as_far_as_the_model_takes_it() {
    insta::assert_snapshot!(last_result(ALL), @r#""read\n\n[The image (image/png, 57 bytes) is lost: read it again, if you need it.]" + 57 bytes of image/png + 249 bytes of PDF"#);
    insta::assert_snapshot!(last_result(Takes { documents: false, ..ALL }), @r#""read\n\n[The document (PDF, 249 bytes) is not shown to you, since you take no documents. If you need its text, a command such as `pdftotext` may be installed.]\n\n[The image (image/png, 57 bytes) is lost: read it again, if you need it.]" + 57 bytes of image/png"#);
    insta::assert_snapshot!(last_result(BLIND.takes), @r#""read\n\n[The image (image/png, 57 bytes) is not shown to you, since you take no images. Tell the user so, where the task depends on it.]\n\n[The document (PDF, 249 bytes) is not shown to you, since you take no documents. If you need its text, a command such as `pdftotext` may be installed.]\n\n[The image (image/png, 57 bytes) is not shown to you, since you take no images. Tell the user so, where the task depends on it.]""#);
}

fn any_input() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!("{\"cut")),
        Just(json!([1])),
        Just(json!(1.5)),
        Just(json!({})),
        Just(json!({"path": "x"}))
    ]
}

fn any_entry() -> impl Strategy<Value = Entry> {
    let name = prop_oneof![Just(String::new()), Just("ü".to_owned()), "[a-z.]{1,80}"];
    prop_oneof![
        any_text().prop_map(|text| user(&text)),
        (any_text(), any_text(), 1..3u32).prop_map(|(one, two, side)| shows(&[&one, "image", &two], &png(side, 1))),
        (0..4u8, prop_oneof![Just("a"), Just("b")]).prop_map(|(id, by)| started(id, by)),
        (0..4u8, any_text()).prop_map(|(id, content)| text(id, &content)),
        (0..4u8, any_text(), proptest::option::of(Just("sig")))
            .prop_map(|(id, text, signature)| reasoning(id, &text, signature)),
        (0..4u8, any_id(), name, any_input()).prop_map(|(id, of, name, input)| call(id, &of, &name, input)),
        (any_id(), any_text(), prop_oneof![Just(ToolStatus::Completed), Just(ToolStatus::Failed)])
            .prop_map(|(of, text, status)| result(&of, &text, status)),
        (any_id(), any_text(), 1..3u32, 1..3usize).prop_map(|(of, text, side, pages)| shown_result(
            &of,
            &text,
            &[png(side, 1).into(), Media::Pdf(pdf(pages))]
        )),
        (0..4u8).prop_map(ended),
        Just(Entry::TurnEnded { at: Millis(0), reason: TurnEnd::Done }),
        Just(Entry::Todos { todos: Vec::new() }),
    ]
}

proptest! {
    #[test]
    fn r2_1_any_stored_history_is_valid(entries in proptest::collection::vec(any_entry(), 0..40)) {
        let held = BTreeMap::from([(png(1, 1).hash(), png(1, 1).into()), (pdf(1).hash(), Media::Pdf(pdf(1)))]);
        let images = Takes { images: true, documents: false };
        for sight in [BLIND, Sight { takes: ALL, held: &held, refused: &NONE }, Sight { takes: images, held: &held, refused: &NONE }] {
            let messages = conversation(&entries, &model("a"), sight);
            prop_assert_eq!(check_messages(&messages), Ok(()), "{:#?}", messages);
        }
    }

    #[test]
    fn r12_4_a_closed_history_is_closed_and_valid(entries in proptest::collection::vec(any_entry(), 0..40)) {
        let all = [entries.clone(), close_interrupted(&entries, Millis(1))].concat();
        prop_assert_eq!(close_interrupted(&all, Millis(2)), vec![]);
        prop_assert_eq!(check_messages(&conversation(&all, &model("a"), BLIND)), Ok(()));
    }
}
