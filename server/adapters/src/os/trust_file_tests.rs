#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::os::unix::fs::PermissionsExt as _;

use copydesk_engine::ids::Millis;
use copydesk_engine::ports::{Fingerprint, TrustVerdict};

use super::*;

fn decision(capability: Capability, content: &str, verdict: TrustVerdict) -> TrustDecision {
    let content = Fingerprint::of(content.as_bytes());
    TrustDecision { capability, verdict, at: Millis(7), items: vec![("mcp.x".to_owned(), content.clone())], content }
}

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

#[tokio::test]
async fn r19_1_decisions_are_kept_by_workspace_in_a_file_of_the_users_own() {
    let folder = tempfile::tempdir().unwrap();
    let data = AbsPath::new(folder.path().join("data")).unwrap();
    let file = TrustFile::in_folder(&data);
    let (a, b) = (path("/code/a"), path("/code/b"));
    assert_eq!(file.decisions(a.clone()).await, Ok(vec![]));
    let trusted = decision(Capability::Programs, "one", TrustVerdict::Trusted);
    let refused = decision(Capability::Keys, "two", TrustVerdict::Refused);
    file.decide(a.clone(), trusted.clone()).await.unwrap();
    file.decide(a.clone(), refused.clone()).await.unwrap();
    // Another daemon reads the same.
    let other = TrustFile::in_folder(&data);
    assert_eq!(other.decisions(a.clone()).await, Ok(vec![trusted.clone(), refused.clone()]));
    assert_eq!(other.decisions(b.clone()).await, Ok(vec![]));
    let mode = std::fs::metadata(data.join("trust.json").as_path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let changed_mind = decision(Capability::Programs, "one", TrustVerdict::Refused);
    other.decide(a.clone(), changed_mind.clone()).await.unwrap();
    assert_eq!(file.decisions(a.clone()).await, Ok(vec![refused.clone(), changed_mind]));
    assert_eq!(file.revoke(b, vec![Capability::Programs]).await, Ok(false));
    assert_eq!(file.revoke(a.clone(), vec![Capability::Programs]).await, Ok(true));
    assert_eq!(file.revoke(a.clone(), vec![Capability::Programs]).await, Ok(false));
    assert_eq!(file.all().await, Ok([(a.clone(), vec![refused])].into()));
    assert_eq!(file.revoke(a, vec![Capability::Keys]).await, Ok(true));
    assert_eq!(file.all().await, Ok(BTreeMap::new()));
}

#[tokio::test]
async fn the_oldest_contents_are_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let file = TrustFile::in_folder(&AbsPath::new(folder.path()).unwrap());
    let place = path("/code/a");
    let of = |number: usize| decision(Capability::Programs, &number.to_string(), TrustVerdict::Trusted);
    let other = decision(Capability::Keys, "kept", TrustVerdict::Trusted);
    file.decide(place.clone(), other.clone()).await.unwrap();
    for number in 0..REMEMBERED + 2 {
        file.decide(place.clone(), of(number)).await.unwrap();
    }
    let kept = file.decisions(place).await.unwrap();
    let expected: Vec<_> = std::iter::once(other).chain((2..REMEMBERED + 2).map(of)).collect();
    assert_eq!(kept, expected);
}

/// What others may have written is no word of the user's, and what cannot be read is not overwritten.
#[tokio::test]
async fn r19_1_a_file_that_is_damaged_or_open_to_others_trusts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let data = AbsPath::new(folder.path()).unwrap();
    let file = TrustFile::in_folder(&data);
    let place = path("/code/a");
    let trusted = decision(Capability::Programs, "one", TrustVerdict::Trusted);
    file.decide(place.clone(), trusted.clone()).await.unwrap();
    let on_disk = data.join("trust.json").as_path().to_owned();
    std::fs::set_permissions(&on_disk, std::fs::Permissions::from_mode(0o666)).unwrap();
    assert!(
        matches!(file.decisions(place.clone()).await, Err(TrustError::Unreadable(text)) if text.contains("chmod 600"))
    );
    std::fs::set_permissions(&on_disk, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&on_disk, "{\"workspaces\": [").unwrap();
    assert!(
        matches!(file.decisions(place.clone()).await, Err(TrustError::Unreadable(text)) if text.contains("line 1"))
    );
    assert!(matches!(file.decide(place, trusted).await, Err(TrustError::Unwritable(_))));
    assert_eq!(std::fs::read_to_string(&on_disk).unwrap(), "{\"workspaces\": [");
}
