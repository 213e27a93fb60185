use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use copydesk_engine::ports::HttpLimits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;

const LIMITS: HttpLimits = HttpLimits { bytes: 1 << 20, total: Duration::from_secs(20), idle: Duration::from_secs(20) };

/// Answers each connection, with what `answer` writes after the head of the request; counts them.
async fn serve<F, Fut>(answer: F) -> (String, Arc<AtomicUsize>)
where
    F: Fn(TcpStream, String) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        loop {
            let Ok((mut stream, _)) = listener.accept().await else { return };
            counted.fetch_add(1, Ordering::SeqCst);
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                if stream.read_buf(&mut head).await.unwrap_or(0) == 0 {
                    break;
                }
            }
            tokio::spawn(answer(stream, String::from_utf8_lossy(&head).into_owned()));
        }
    });
    (address, count)
}

async fn serve_text(text: &'static str) -> (String, Arc<AtomicUsize>) {
    serve(move |mut stream, _| async move {
        let _ = stream.write_all(text.as_bytes()).await;
    })
    .await
}

fn request(address: &str, reach: Reach, limits: HttpLimits) -> HttpRequest {
    HttpRequest { address: WebAddress::parse(address).unwrap(), headers: Vec::new(), body: None, reach, limits }
}

async fn get(address: &str, reach: Reach) -> Result<HttpAnswer, HttpError> {
    Web::default().exchange(request(address, reach, LIMITS)).await
}

#[tokio::test]
async fn an_exchange_carries_headers_both_ways_and_follows_nothing() {
    let (address, _) = serve(|mut stream, head| async move {
        let agent =
            head.lines().find(|line| line.to_lowercase().starts_with("user-agent")).unwrap_or_default().to_owned();
        let answer = format!(
            "HTTP/1.1 302 Found\r\nLocation: http://other.example/\r\nContent-Length: {}\r\n\r\n{agent}",
            agent.len()
        );
        let _ = stream.write_all(answer.as_bytes()).await;
    })
    .await;
    let mut request = request(&format!("{address}/x"), Reach::Anywhere, LIMITS);
    request.headers.push(("user-agent", "the test".to_owned()));
    let answer = Web::default().exchange(request).await.unwrap();
    assert_eq!((answer.status, answer.header("location")), (302, Some("http://other.example/")));
    assert_eq!(String::from_utf8_lossy(&answer.body).to_lowercase(), "user-agent: the test");
    assert!(!answer.is_cut);
}

/// The server stands where a page would lead: nothing of it is reached, not even by a connection.
#[tokio::test]
async fn r19_2_c66_addresses_inside_are_refused_at_connect() {
    let (address, count) = serve_text("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret").await;
    let port = address.rsplit(':').next().unwrap();
    let hosts = [
        "127.0.0.1",
        "127.1",
        "0x7f000001",
        "2130706433",
        "017700000001",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]",
        "localhost",
        "localhost.",
        "LOCALHOST",
    ];
    for host in hosts {
        let refused = get(&format!("http://{host}:{port}/"), Reach::Public).await.unwrap_err();
        assert!(matches!(refused, HttpError::Inside { .. } | HttpError::NotFound { .. }), "{host}: {refused:?}");
    }
    for host in ["10.0.0.1", "169.254.169.254", "192.168.0.1", "100.64.0.1", "[fd00::1]", "[fe80::1]", "224.0.0.1"] {
        let refused = get(&format!("http://{host}/"), Reach::Public).await.unwrap_err();
        assert!(matches!(refused, HttpError::Inside { .. }), "{host}: {refused:?}");
    }
    assert_eq!(count.load(Ordering::SeqCst), 0);
    let answer = get(&address, Reach::Anywhere).await.unwrap();
    assert_eq!(answer.body, b"secret", "the server does answer");
}

/// A web whose names mean this; with how often it was asked.
fn naming(look_up: impl Fn(&str) -> Vec<&'static str> + Send + Sync + 'static) -> (Web, Arc<AtomicUsize>) {
    let count = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&count);
    let names = PublicNames::by(move |name| {
        counted.fetch_add(1, Ordering::SeqCst);
        look_up(name).into_iter().map(|ip| ip.parse().unwrap()).collect()
    });
    (Web { names, ..Web::default() }, count)
}

const INSIDE: [&str; 8] =
    ["10.0.0.1", "127.0.0.1", "169.254.169.254", "192.168.1.1", "::1", "::ffff:127.0.0.1", "fd00::1", "64:ff9b::a00:1"];

/// Whatever was looked up before: the addresses that were judged are those that are connected to.
#[tokio::test]
async fn r19_2_c66_a_name_that_means_an_address_inside_is_refused_at_connect() {
    let (address, reached) = serve_text("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret").await;
    let port = address.rsplit(':').next().unwrap();
    for inside in INSIDE {
        let (web, asked) = naming(move |name| {
            assert_eq!(name, "inside.example");
            vec![inside, inside]
        });
        for times in 1..=2 {
            let refused = web
                .exchange(request(&format!("http://inside.example:{port}/"), Reach::Public, LIMITS))
                .await
                .unwrap_err();
            let expected = HttpError::Inside { host: "inside.example".to_owned(), address: inside.parse().unwrap() };
            assert_eq!(refused, expected);
            assert_eq!(asked.load(Ordering::SeqCst), times, "each connection asks, and asks once");
        }
    }
    assert_eq!(reached.load(Ordering::SeqCst), 0);
    // The server does answer, and a host that the user has listed is looked up by the system.
    let (web, asked) = naming(|_| INSIDE.to_vec());
    let answer = web.exchange(request(&format!("http://localhost:{port}/"), Reach::Anywhere, LIMITS)).await.unwrap();
    assert_eq!((answer.body, asked.load(Ordering::SeqCst)), (b"secret".to_vec(), 0));
}

#[tokio::test]
async fn r19_2_behind_a_proxy_a_name_that_means_an_address_inside_is_refused() {
    for inside in INSIDE {
        let (web, _) = naming(move |_| vec!["1.1.1.1", inside]);
        let _ = web.proxies.set(Matcher::builder().all("http://127.0.0.1:9").build());
        let refused = web.exchange(request("http://inside.example/", Reach::Public, LIMITS)).await.unwrap_err();
        let expected = HttpError::Inside { host: "inside.example".to_owned(), address: inside.parse().unwrap() };
        assert_eq!(refused, expected);
    }
}

#[tokio::test]
async fn r19_2_c66_an_endless_body_ends_at_the_cap() {
    let (address, _) = serve(|mut stream, _| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await;
        let piece = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
        while stream.write_all(piece.as_bytes()).await.is_ok() {}
    })
    .await;
    let answer = get(&address, Reach::Anywhere).await.unwrap();
    assert_eq!((answer.body.len(), answer.is_cut), (LIMITS.bytes, true));
}

/// 50 MB that travel as 50 kB: the cap is on what is unpacked.
#[tokio::test]
async fn r19_2_c66_a_packed_page_is_capped_unpacked() {
    // Members of gzip may follow each other.
    let member = zeros_in_gzip();
    let (address, _) = serve(move |mut stream, _| {
        let member = member.clone();
        async move {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n").await;
            for _ in 0..50 {
                if stream.write_all(&member).await.is_err() {
                    return;
                }
            }
        }
    })
    .await;
    let answer = get(&address, Reach::Anywhere).await.unwrap();
    assert_eq!((answer.body.len(), answer.is_cut), (LIMITS.bytes, true));
    assert!(answer.body.iter().all(|byte| *byte == 0));
    assert_eq!(answer.header("content-encoding"), None, "what is unpacked is not told to be packed");
}

/// Two mebibytes of zeros.
fn zeros_in_gzip() -> Vec<u8> {
    let script = "import gzip,sys; sys.stdout.buffer.write(gzip.compress(bytes(1 << 21), mtime=0))";
    let made = std::process::Command::new("python3").args(["-c", script]).output().unwrap();
    assert!(made.status.success() && made.stdout.len() < 10_000);
    made.stdout
}

#[tokio::test]
async fn r19_2_silence_and_slowness_end() {
    let (silent, _) = serve(|mut stream, _| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx").await;
        std::future::pending::<()>().await;
    })
    .await;
    let idle = Duration::from_millis(100);
    let quick = HttpLimits { idle, ..LIMITS };
    let error = Web::default().exchange(request(&silent, Reach::Anywhere, quick)).await.unwrap_err();
    assert_eq!(error, HttpError::Silent { host: "127.0.0.1".to_owned(), limit: idle });

    let (dripping, _) = serve(|mut stream, _| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n").await;
        while stream.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    let total = Duration::from_millis(300);
    let error =
        Web::default().exchange(request(&dripping, Reach::Anywhere, HttpLimits { total, ..LIMITS })).await.unwrap_err();
    assert_eq!(error, HttpError::TooSlow { host: "127.0.0.1".to_owned(), limit: total });
    assert!(error.retry());
}

#[tokio::test]
async fn a_dropped_exchange_ends_its_connection() {
    let (ended, mut end) = tokio::sync::mpsc::channel(1);
    let (address, _) = serve(move |mut stream, _| {
        let ended = ended.clone();
        async move {
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
            let _ = ended.send(()).await;
        }
    })
    .await;
    let web = Web::default();
    let exchange = web.exchange(request(&address, Reach::Anywhere, LIMITS));
    assert!(timeout(Duration::from_millis(300), exchange).await.is_err());
    timeout(Duration::from_secs(20), end.recv()).await.unwrap().unwrap();
}

#[tokio::test]
async fn what_does_not_listen_and_what_has_no_name_are_told_apart() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = get(&format!("http://{free}/"), Reach::Anywhere).await.unwrap_err();
    assert_eq!(error, HttpError::Refused { host: "127.0.0.1".to_owned() });
    let error = get("http://no-such-name.invalid/", Reach::Public).await.unwrap_err();
    assert!(matches!(&error, HttpError::NotFound { host, .. } if host == "no-such-name.invalid"), "{error:?}");
    assert!(!error.retry());
}

/// With a proxy the proxy looks names up: what can be known without it is refused all the same.
#[tokio::test]
async fn r19_2_behind_a_proxy_numbers_and_names_inside_stay_refused() {
    let web = Web::default();
    let _ = web.proxies.set(Matcher::builder().all("http://127.0.0.1:9").no("direct.example").build());
    let check = |address: &str| WebAddress::parse(address).unwrap();
    assert!(web.is_proxied(&check("https://docs.example/")));
    assert!(!web.is_proxied(&check("https://direct.example/")));
    for address in [
        "http://10.0.0.1/",
        "http://[::1]/",
        "http://wiki/",
        "http://localhost/",
        "http://a.local/",
        "https://x.corp./",
        "http://a.home.arpa/",
    ] {
        let refused = web.exchange(request(address, Reach::Public, LIMITS)).await.unwrap_err();
        assert!(matches!(refused, HttpError::Inside { .. } | HttpError::NotFound { .. }), "{address}: {refused:?}");
    }
    assert_eq!(web.refuse_inside_behind_proxy(&check("https://notlocal.example/")).await, Ok(()));
}
