//! Skills of other machines: `<address>/index.json` names them, and they are kept in the cache. Only addresses of the user's own configuration come here.

use std::time::Duration;

use copydesk_workspace::disk::{DiskError, Expected};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use futures::future::{join_all, try_join_all};
use serde::Deserialize;
use tokio::time::timeout;

use super::discover::FILE;
use super::{SkillRoot, SkillSettings};
use crate::ports::{BoxFuture, Files, Http, HttpLimits, HttpRequest, Ports, Reach};
use crate::web::WebAddress;

/// For one address with all that it names; what is kept from earlier is used where it is not enough.
const PATIENCE: Duration = Duration::from_secs(10);
const LIMITS: HttpLimits = HttpLimits { bytes: 1 << 20, total: PATIENCE, idle: PATIENCE };
const MOST_SKILLS: usize = 100;
const MOST_FILES: usize = 64;
/// Fetched at a time.
const AT_ONCE: usize = 8;
/// Which version a folder of the cache holds.
const VERSION: &str = ".version";

/// Where they lie by now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FetchedSkills {
    pub roots: Vec<SkillRoot>,
    /// For the user.
    pub problems: Vec<String>,
}

#[derive(Deserialize)]
struct Index {
    skills: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    name: String,
    files: Vec<String>,
    version: Option<String>,
}

pub fn fetch<'a>(ports: &'a Ports, settings: &'a SkillSettings) -> BoxFuture<'a, FetchedSkills> {
    Box::pin(fetch_all(ports, settings))
}

async fn fetch_all(ports: &Ports, settings: &SkillSettings) -> FetchedSkills {
    let mut fetched = FetchedSkills::default();
    let Some(cache) = &settings.cache else { return fetched };
    // All at once: the first prompt waits for them.
    let asked = settings.urls.iter().map(|url| async move {
        let kept = cache.join(format!("{:?}", ContentHash::of(url.to_string().as_bytes())));
        let found = timeout(PATIENCE, Place { ports, url, kept: &kept }.fetch()).await;
        (url, kept, found.unwrap_or_else(|_| Err("it is too slow".to_owned())))
    });
    for (url, kept, found) in join_all(asked).await {
        match found {
            Ok((names, problems)) => {
                fetched.roots.extend(names.iter().map(|name| SkillRoot::of_user(kept.join(name))));
                fetched.problems.extend(problems);
            }
            Err(problem) => {
                fetched.roots.push(SkillRoot::of_user(kept));
                fetched.problems.push(format!("skills: {url:?}: {problem}; what was fetched earlier is used"));
            }
        }
    }
    fetched
}

struct Place<'a> {
    ports: &'a Ports,
    url: &'a WebAddress,
    kept: &'a AbsPath,
}

impl Place<'_> {
    /// Names of folders, and what is wrong with single skills.
    async fn fetch(&self) -> Result<(Vec<String>, Vec<String>), String> {
        let bytes = get(&*self.ports.http, self.url.below(&["index.json"])).await?;
        let index: Index = serde_json::from_slice(&bytes)
            .map_err(|_| "its index.json is none: expected {\"skills\": [{\"name\", \"files\"}]}".to_owned())?;
        let (mut names, mut problems) = (Vec::new(), Vec::new());
        for listed in index.skills.iter().take(MOST_SKILLS) {
            match self.skill(listed).await {
                Ok(()) => names.push(listed.name.clone()),
                Err(problem) => problems.push(format!("skills: {:?}: {:?}: {problem}", self.url, listed.name)),
            }
        }
        Ok((names, problems))
    }

    async fn skill(&self, listed: &Listed) -> Result<(), String> {
        let Listed { name, files, version } = listed;
        if !is_plain(name) || name.contains('/') {
            return Err("the name is no name of a folder".to_owned());
        }
        if files.len() > MOST_FILES || !files.iter().all(|file| is_plain(file)) {
            return Err(format!("expected at most {MOST_FILES} files, each by a path below the skill's folder"));
        }
        if !files.iter().any(|file| file == FILE) {
            return Err(format!("there is no {FILE} among its files"));
        }
        let folder = self.kept.join(name);
        let store = &*self.ports.files;
        let has_file = store.stat(folder.join(FILE)).await.is_ok();
        // Without it a skill is there in part at the most.
        let kept = store.read(folder.join(VERSION)).await.ok();
        let is_whole = kept.is_some_and(|kept| version.as_ref().is_none_or(|version| kept == version.as_bytes()));
        if has_file && is_whole {
            return Ok(());
        }
        let mut fetched = Vec::new();
        for some in files.chunks(AT_ONCE) {
            let addresses = some.iter().map(|file| {
                let names: Vec<&str> = std::iter::once(name.as_str()).chain(file.split('/')).collect();
                self.url.below(&names)
            });
            fetched.extend(try_join_all(addresses.map(|address| get(&*self.ports.http, address))).await?);
        }
        for (file, bytes) in files.iter().zip(fetched) {
            put(store, folder.join(file), bytes).await.map_err(|error| error.to_string())?;
        }
        // Last: a folder without it is fetched again.
        let version = version.clone().unwrap_or_default();
        put(store, folder.join(VERSION), version.into_bytes()).await.map_err(|error| error.to_string())
    }
}

/// Parts of a relative path that stay below it, none of them hidden.
fn is_plain(path: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains(['\\', ':']);
    path.len() <= 200 && path.split('/').all(is_part) && !path.chars().any(char::is_control)
}

/// Redirects are not followed: the address is the user's word.
async fn get(http: &dyn Http, address: WebAddress) -> Result<Vec<u8>, String> {
    let shown = format!("{address:?}");
    let request = HttpRequest { address, headers: Vec::new(), body: None, reach: Reach::Anywhere, limits: LIMITS };
    let answer = http.exchange(request).await.map_err(|error| error.to_string())?;
    match answer.status {
        200 if !answer.is_cut => Ok(answer.body),
        200 => Err(format!("{shown} is larger than {} bytes", LIMITS.bytes)),
        status => Err(format!("{shown} answered with status {status}")),
    }
}

async fn put(files: &dyn Files, path: AbsPath, bytes: Vec<u8>) -> Result<(), DiskError> {
    let expected = match files.read(path.clone()).await {
        Ok(old) => Expected::Bytes(ContentHash::of(&old)),
        Err(DiskError::NotFound(_)) => Expected::Absent,
        Err(error) => return Err(error),
    };
    files.write(path, bytes, expected).await
}
