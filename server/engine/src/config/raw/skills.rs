//! The key `skills`, as written.

use schemars::JsonSchema;

#[derive(serde::Deserialize, JsonSchema)]
#[serde(untagged, expecting = "an object with the lists `paths` and `urls`, or a list of paths and addresses")]
#[schemars(inline)]
pub(in crate::config) enum RawSkills {
    Named(RawSkillPlaces),
    /// Paths, and addresses with `http://` or `https://`.
    Mixed(Vec<String>),
}

/// Where further skills are.
#[derive(Clone, Default, serde::Deserialize, JsonSchema)]
#[serde(default, expecting = "an object")]
#[schemars(rename = "Skills")]
pub(in crate::config) struct RawSkillPlaces {
    /// Folders: absolute, below `~/`, or relative to the folder of the session.
    pub(in crate::config) paths: Vec<String>,
    /// Addresses below which there is an `index.json` of skills. Taken from your own files alone.
    pub(in crate::config) urls: Vec<String>,
}

impl Default for RawSkills {
    fn default() -> Self {
        Self::Named(RawSkillPlaces::default())
    }
}

impl RawSkills {
    pub(in crate::config) fn places(&self) -> RawSkillPlaces {
        match self {
            Self::Named(places) => places.clone(),
            Self::Mixed(entries) => {
                let (urls, paths) = entries.iter().cloned().partition(|entry| is_address(entry));
                RawSkillPlaces { paths, urls }
            }
        }
    }
}

pub(in crate::config) fn is_address(entry: &str) -> bool {
    entry.starts_with("http://") || entry.starts_with("https://")
}
