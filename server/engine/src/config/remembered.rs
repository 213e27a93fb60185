//! The model that was chosen last while the configuration named none: state, not configuration, in a file of the data folder. Which model is in force is
//! decided elsewhere.

use copydesk_workspace::disk::Expected;
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use serde::Deserialize;

use crate::message::ModelRef;
use crate::ports::{Environment, Files};

#[derive(Deserialize)]
struct Remembered {
    /// `provider/model`.
    model: String,
}

fn file(environment: &dyn Environment) -> AbsPath {
    environment.folders().data.join("model.json")
}

/// `None` where there is none, or where the file cannot be read: then the user chooses again.
pub(super) async fn remembered(files: &dyn Files, environment: &dyn Environment) -> Option<ModelRef> {
    let bytes = files.read(file(environment)).await.ok()?;
    serde_json::from_slice::<Remembered>(&bytes).ok()?.model.parse().ok()
}

/// A failure costs the user a second choice, and is in the log alone.
pub(crate) async fn remember(files: &dyn Files, environment: &dyn Environment, model: &ModelRef) {
    let path = file(environment);
    let json = serde_json::json!({ "model": model.to_string() });
    let expected = match files.read(path.clone()).await {
        Ok(bytes) => Expected::Bytes(ContentHash::of(&bytes)),
        Err(_) => Expected::Absent,
    };
    if let Err(error) = files.write(path, format!("{json}\n").into_bytes(), expected).await {
        tracing::warn!(%error, "the chosen model is not remembered");
    }
}
