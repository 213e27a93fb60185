use copydesk_workspace::disk::MemoryDisk;

use super::*;
use crate::testing::DiskFiles;
use crate::workbench::path;

fn disk() -> Arc<dyn Files> {
    let disk = Arc::new(MemoryDisk::new());
    for file in [".env", "a.rs", "b.rs", "src/a.rs", "src/deep/b.rs", ".git/config", "x[1]"] {
        disk.put(&path(&format!("/w/{file}")), "x");
    }
    disk.put_link(&path("/w/link"), "src");
    DiskFiles::new(disk)
}

async fn check(pattern: &str, expected: &[&str]) {
    let expected = expected.iter().map(|name| path(&format!("/w/{name}"))).collect();
    assert_eq!(glob(&disk(), &path("/w"), pattern).await, Expanded::All(expected), "{pattern}");
}

#[tokio::test]
async fn r8_3_a_pattern_means_what_bash_finds_for_it() {
    check("*.rs", &["a.rs", "b.rs"]).await;
    check("?.rs", &["a.rs", "b.rs"]).await;
    check("[!a].rs", &["b.rs"]).await;
    check(".e*", &[".env"]).await;
    check("*env", &[]).await;
    check("*/*.rs", &["link/a.rs", "src/a.rs"]).await;
    check("src/**", &["src/a.rs", "src/deep"]).await;
    check("s*/deep/b.rs", &["src/deep/b.rs"]).await;
    check("../w/a.*", &["../w/a.rs"]).await;
    check("x\\[1]", &["x[1]"]).await;
    check("*/nothing", &[]).await;
    for strange in ["[[:alpha:]].rs", "@(a|b).rs", "{a,b}*"] {
        assert_eq!(glob(&disk(), &path("/w"), strange).await, Expanded::NotUnderstood, "{strange}");
    }
}

#[tokio::test]
async fn a_folder_means_all_below_it_and_nothing_behind_its_links() {
    let Expanded::All(found) = below(&disk(), &path("/w")).await else { panic!("there are few") };
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, [".env", "a.rs", "b.rs", "link", "x[1]", ".git/config", "src/a.rs", "src/deep/b.rs"]);
    let links = found.iter().filter(|(_, is_link)| *is_link).count();
    assert_eq!(links, 1);
}
