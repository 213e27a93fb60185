//! A terminal whose program does what it does at the worst moment of a look at it.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::atomic::{AtomicUsize, Ordering};

use copydesk_engine::ports::BoxFuture;

use super::*;

/// As programs read what nobody is to see: without an echo, the prompt, and it reads.
fn asks(line: &OwnedFd, prompt: &str) {
    let mut modes = tcgetattr(line).unwrap();
    modes.local_modes.remove(LocalModes::ECHO);
    tcsetattr(line, OptionalActions::Flush, &modes).unwrap();
    assert_eq!(rustix::io::write(line, prompt.as_bytes()), Ok(prompt.len()));
}

/// A terminal at which `asks` is all done while a look waits for the system's word of who reads, at that look (0 for the first), and who reads then.
fn caught(at: usize) -> (Arc<Terminal>, Arc<OwnedFd>) {
    let program: Arc<Mutex<Option<Arc<OwnedFd>>>> = Arc::default();
    let (line, looks) = (Arc::clone(&program), AtomicUsize::new(0));
    let (terminal, Line(opened)) = open_with(Arc::new(move |_: &CStr| {
        let look = looks.fetch_add(1, Ordering::SeqCst);
        if look == at {
            asks(line.lock().unwrap().as_ref().unwrap(), "Vault key: ");
        }
        if look < at { Reads::Unknown } else { Reads::Waits }
    }))
    .unwrap();
    let opened = Arc::new(opened);
    *program.lock().unwrap() = Some(Arc::clone(&opened));
    (terminal, opened)
}

#[tokio::test]
async fn c49_no_look_at_a_terminal_is_of_two_moments() {
    let (terminal, _line) = caught(1);
    let before = terminal.look().await.unwrap();
    assert_eq!((before.line.as_str(), before.reads, before.is_secret()), ("", Reads::Unknown, false));
    // The prompt was written, and nobody has taken it to the screen.
    for _ in 0..2 {
        assert!(terminal.look().await.is_none());
    }
    let mut output = Vec::new();
    assert_eq!(terminal.read(&mut output).await.unwrap(), output.len());
    let after = terminal.look().await.unwrap();
    assert_eq!((after.line.as_str(), after.reads, after.is_secret()), ("Vault key:", Reads::Waits, true));
}

/// Keeps what it is asked.
#[derive(Default)]
struct Asked(Mutex<Vec<(String, bool)>>);

impl Keyboard for Asked {
    fn line(&self, prompt: TerminalPrompt) -> BoxFuture<'_, Option<Typed>> {
        self.0.lock().unwrap().push((prompt.text, prompt.is_secret));
        Box::pin(async { None })
    }
}

#[tokio::test]
async fn c49_a_prompt_is_whole_and_as_secret_as_it_is_whenever_it_comes() {
    // The terminal is long quiet at the later ones.
    for at in [0, 1, 3, 6] {
        let (terminal, _line) = caught(at);
        let keyboard = Asked::default();
        let reading = async {
            loop {
                terminal.read(&mut Vec::new()).await.unwrap();
            }
        };
        tokio::select! {
            HungUp = terminal.answer_prompts(&keyboard) => {}
            () = reading => {}
        }
        assert_eq!(*keyboard.0.lock().unwrap(), [("Vault key:".to_owned(), true)], "{at}");
    }
}

#[tokio::test]
async fn c49_nobody_is_looked_for_while_a_program_writes() {
    let looks = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&looks);
    let (terminal, Line(line)) = open_with(Arc::new(move |_: &CStr| {
        counted.fetch_add(1, Ordering::SeqCst);
        Reads::Nobody
    }))
    .unwrap();
    // On a busy machine it may pause.
    let mut pauses = 0;
    let writing = async {
        let mut last = Instant::now();
        for _ in 0..100 {
            let now = Instant::now();
            assert_eq!(rustix::io::write(&line, b"at work\n"), Ok(8));
            terminal.read(&mut Vec::new()).await.unwrap();
            pauses += last.elapsed().as_millis() / SETTLED.as_millis();
            last = now;
            sleep(LOOK / 10).await;
        }
    };
    tokio::select! {
        _ = terminal.prompt() => panic!("nothing is asked"),
        () = writing => {}
    }
    let looks = looks.load(Ordering::SeqCst);
    assert!(looks as u128 <= pauses, "{looks} looks, {pauses} pauses");
}
