//! A session that has no model: the servers of this machine are asked what they offer, and the user is told how to choose. It never chooses itself.

use std::time::Duration;

use futures::future::join_all;

use super::Context;
use crate::agent::Agent;
use crate::config::ConfiguredModel;
use crate::message::ModelRef;

/// For all servers together: one that runs on this machine answers in a few milliseconds.
const LIMIT: Duration = Duration::from_millis(300);

/// So many are named in a text; the option of the session has all.
const NAMED: usize = 8;

impl Context {
    /// The model of the next request; the error is for the user. Only where none is set, this machine is searched for one.
    pub(crate) async fn model_to_ask(&self, agent: &Agent) -> Result<ConfiguredModel, String> {
        if self.model_of(agent).is_some() {
            return self.model(agent);
        }
        let found = self.discover().await;
        let text = self.how_to_choose(&found);
        if !found.is_empty() {
            self.offer(found);
            self.tell_choices().await;
        }
        Err(text)
    }

    async fn discover(&self) -> Vec<ModelRef> {
        let servers = self.config().local_servers();
        let asked = servers.iter().map(|server| self.ports.model.offered(server.clone(), LIMIT));
        let answers = join_all(asked).await;
        let mut found = Vec::new();
        for (server, answer) in servers.iter().zip(answers) {
            match answer {
                Ok(names) => {
                    found.extend(
                        names.into_iter().flatten().map(|model| ModelRef { provider: server.id.clone(), model }),
                    );
                }
                Err(error) => tracing::debug!(server = server.id, %error, "no model server found"),
            }
        }
        found
    }

    fn how_to_choose(&self, found: &[ModelRef]) -> String {
        let file = self.ports.environment.folders().config.join("copydesk/copydesk.jsonc");
        let Some(first) = found.first() else {
            return format!(
                "No model is set, and no model server was found on this machine (Ollama, LM Studio and llama.cpp were looked for on their usual \
                 ports). Start one and send the prompt again, or put `model` and `provider` into {file} and open a new session. For a server \
                 elsewhere, for example:\n\n\
                 {{\"model\": \"mine/NAME\",\n \"provider\": {{\"mine\": {{\"options\": {{\"baseURL\": \"https://models.example.com/v1\"}},\n  \
                 \"models\": {{\"NAME\": {{}}}}}}}}}}\n\nNAME is the model's name as the server knows it."
            );
        };
        let mut named: Vec<String> = found.iter().take(NAMED).map(|model| format!("- {model}")).collect();
        if found.len() > NAMED {
            named.push(format!("- and {} more", found.len() - NAMED));
        }
        format!(
            "No model is set. These run on this machine:\n\n{}\n\nChoose one as the model of this session, and send the prompt again: \
             `:CopydeskModel {first}` in Neovim, the option `model` elsewhere (`session/set_config_option`). It is remembered for later \
             sessions. Or put it into {file}:\n\n{{\"model\": \"{first}\"}}",
            named.join("\n")
        )
    }
}

#[cfg(test)]
#[path = "first_model_tests.rs"]
mod tests;
