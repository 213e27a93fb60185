//! URIs in every spelling that editors are known to send.

#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;

fn check(uri: &str, path: &str) {
    let found = path_from_uri(uri).unwrap();
    assert_eq!(found.to_string(), path, "{uri}");
    assert_eq!(path_from_uri(&uri_from_path(&found)).unwrap(), found, "{uri} there and back");
}

#[test]
fn r18_2_all_spellings_of_a_uri_lead_to_one_path() {
    for uri in [
        "file:///home/a%20b/c.rs",
        "file:///home/a b/c.rs",
        "FILE:///home/a%20b/c.rs",
        "file://localhost/home/a%20b/c.rs",
        "file://LOCALHOST/home/a%20b/c.rs",
        "file:/home/a%20b/c.rs",
        "file:///home/%61%20%62/%63%2Ers",
        "file:///home//a%20b/./c.rs",
        "file:///home/x/../a%20b/c.rs",
        "file:///home/a%20b/c.rs#L10",
        "file:///home/a%20b/c.rs?raw",
    ] {
        check(uri, "/home/a b/c.rs");
    }
    check("file:///", "/");
    check("file:///tmp/", "/tmp");
    check("file:///a%25b%23c%3Fd", "/a%b#c?d");
    check("file:///%C3%BC/%F0%9F%90%B0", "/ü/🐰");
    check("file:///ü/🐰", "/ü/🐰");
}

#[cfg(not(windows))]
#[test]
fn r18_2_drive_case_and_escaped_colons_are_one_spelling() {
    for uri in ["file:///c:/src/m.rs", "file:///C:/src/m.rs", "file:///c%3A/src/m.rs", "file:///C%3a/src/m.rs"] {
        check(uri, "/C:/src/m.rs");
    }
    check("file:///c%3A", "/C:");
    check("file:///cc:/x", "/cc:/x");
    check("file:///x/c:/y", "/x/c:/y");
}

#[test]
fn r18_2_windows_forms_are_text() {
    for (host, path, windows) in
        [("", "/C:/src/m.rs", r"C:\src\m.rs"), ("", "/C:", r"C:\"), ("server", "/share/m.rs", r"\\server\share\m.rs")]
    {
        assert_eq!(windows_path(host, path), windows);
        let (found_host, found) = windows_uri_parts(windows);
        assert_eq!(found_host, host);
        assert_eq!(windows_path(host, &String::from_utf8(found).unwrap()), windows);
    }
    assert_eq!(windows_uri_parts(r"\\?\c:\x"), (String::new(), b"/C:/x".to_vec()));
}

#[test]
fn what_is_not_a_file_uri_is_refused() {
    for uri in ["untitled:Untitled-1", "https://host/x", "vscode-notebook-cell:/x"] {
        assert_eq!(path_from_uri(uri), Err(UriError::NotAFile(uri.to_owned())));
    }
    for uri in [
        "",
        "/home/x",
        "file:",
        "file:x",
        "file://",
        "file://host",
        "file:///%",
        "file:///%4",
        "file:///%zz",
        "file:///a%00",
    ] {
        assert_eq!(path_from_uri(uri), Err(UriError::Invalid(uri.to_owned())));
    }
}

#[cfg(not(windows))]
#[test]
fn another_host_is_refused_where_there_are_no_shares() {
    assert_eq!(path_from_uri("file://server/x"), Err(UriError::Invalid("file://server/x".into())));
}

#[cfg(unix)]
proptest! {
    #[test]
    fn r18_2_any_path_goes_to_a_uri_and_back(bytes in proptest::collection::vec(1_u8.., 0..40)) {
        let mut bytes = bytes;
        bytes.insert(0, b'/');
        let path = AbsPath::new(path_from_bytes(with_upper_drive(bytes)).unwrap()).unwrap();
        let uri = uri_from_path(&path);
        prop_assert!(uri.is_ascii());
        let back = path_from_uri(&uri).unwrap();
        prop_assert_eq!(uri_from_path(&back), uri);
        // `/./c:` becomes a drive only once it is normalised.
        prop_assert_eq!(with_upper_drive(path.as_path().as_os_str().as_encoded_bytes().to_vec()), back.as_path().as_os_str().as_encoded_bytes());
    }

    #[test]
    fn r18_2_any_text_is_a_path_or_an_error(uri in "(file:(//(localhost)?)?)?[ -~ü🐰]{0,30}") {
        if let Ok(path) = path_from_uri(&uri) {
            prop_assert_eq!(path_from_uri(&uri_from_path(&path)), Ok(path));
        }
    }

    #[test]
    fn r18_2_every_character_may_be_escaped(name in "[a-zü .%#?]{1,12}") {
        let escaped: String = name.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let path = AbsPath::new(format!("/{name}")).unwrap();
        prop_assert_eq!(path_from_uri(&format!("file:///{escaped}")), Ok(path.clone()));
        prop_assert_eq!(path_from_uri(&uri_from_path(&path)), Ok(path));
    }
}
