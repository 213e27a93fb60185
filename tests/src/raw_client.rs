//! The built daemon behind its pipes, message by message: for tests that start it in an environment of their own or look at its process. It plays no editor.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::fake_editor::LIMIT;

pub struct RawClient {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: i64,
}

impl RawClient {
    /// `command` has pipes for input and output, as those of `Home` have.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().expect("the program starts");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, input, output, last_id: 0 }
    }

    /// Of the process.
    pub fn id(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// `initialize` and `initialized` of a client that speaks ACP's session methods; the capabilities that are answered.
    pub async fn initialize(&mut self) -> Value {
        let capabilities = json!({ "experimental": { "copydesk": { "protocol": 1, "acp": {} } } });
        let answer = self.request("initialize", json!({ "processId": null, "capabilities": capabilities })).await;
        self.notify("initialized", json!({})).await;
        answer["result"]["capabilities"].clone()
    }

    /// The whole response. What else comes meanwhile is passed over.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        loop {
            let message = self.receive().await;
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    pub async fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    /// `shutdown` and `exit`; fails the test where the daemon does not end in order.
    pub async fn finish(mut self) {
        self.request("shutdown", Value::Null).await;
        self.notify("exit", Value::Null).await;
        let ended = tokio::time::timeout(LIMIT, self.child.wait()).await.expect("an end in time");
        assert!(ended.expect("a status").success());
    }

    async fn send(&mut self, message: Value) {
        let body = message.to_string();
        let framed = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.input.write_all(framed.as_bytes()).await.expect("the daemon reads");
    }

    async fn receive(&mut self) -> Value {
        tokio::time::timeout(LIMIT, async {
            let mut length = 0;
            loop {
                let mut line = String::new();
                assert_ne!(self.output.read_line(&mut line).await.expect("a line"), 0, "the daemon has ended");
                if line.trim().is_empty() {
                    break;
                }
                if let Some(given) = line.strip_prefix("Content-Length: ") {
                    length = given.trim().parse().expect("a length");
                }
            }
            let mut body = vec![0; length];
            self.output.read_exact(&mut body).await.expect("a body");
            serde_json::from_slice(&body).expect("JSON")
        })
        .await
        .expect("a message in time")
    }
}
