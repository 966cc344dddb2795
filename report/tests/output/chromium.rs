//! A headless Chromium, driven over a pair of pipes: no port, no dependency.
//!
//! Chromium speaks its DevTools protocol on descriptors 3 and 4, one JSON
//! message after another, each ended by a zero byte. A shell opens two FIFOs
//! as those descriptors before it becomes Chromium.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value, json};

/// Where Debian's package puts it.
const CHROMIUM: &str = "/usr/bin/chromium";
/// A cold start on a busy machine takes seconds, not minutes.
const PATIENCE: Duration = Duration::from_secs(180);

/// Whether a browser is there. Without one a test is skipped aloud; in CI,
/// where it must be there, it fails.
pub fn present() -> bool {
    let found = Path::new(CHROMIUM).exists();
    if !found {
        // Past the test runner, which keeps what a passing test prints to itself.
        let _ = writeln!(std::io::stdout(), "SKIPPED: browser tests: chromium not found");
        assert!(std::env::var_os("CI").is_none(), "SKIPPED: browser tests: chromium not found; apt-get install chromium");
    }
    found
}

/// A running browser with a profile of its own.
pub struct Browser {
    process: Child,
    commands: File,
    messages: Receiver<Value>,
    last_id: u64,
    /// Events that came while an answer was waited for.
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

/// How a page is shown.
#[derive(Clone, Copy)]
pub struct Screen {
    pub width: u32,
    pub height: u32,
    pub dark: bool,
}

/// One open page.
pub struct Page<'a> {
    browser: &'a mut Browser,
    session: String,
}

impl Browser {
    pub fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let (down, up) = (profile.path().join("down"), profile.path().join("up"));
        assert!(Command::new("mkfifo").args([&down, &up]).status().unwrap().success());
        let script = "exec \"$0\" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
                      --disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars --remote-debugging-pipe \
                      --user-data-dir=\"$3/data\" about:blank 3<\"$1\" 4>\"$2\"";
        let mut shell = Command::new("sh");
        shell.args(["-c", script, CHROMIUM]).args([&down, &up]).arg(profile.path());
        let process = shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // In the order in which the shell opens them: each side waits for the other.
        let commands = File::options().write(true).open(&down).unwrap();
        let answers = File::open(&up).unwrap();
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(answers).split(0).map_while(Result::ok) {
                let Ok(value) = serde_json::from_slice(&message) else { continue };
                if sender.send(value).is_err() {
                    break;
                }
            }
        });
        Self { process, commands, messages, last_id: 0, events: Vec::new(), _profile: profile }
    }

    /// Opens a file of this machine and waits until it is loaded.
    pub fn open(&mut self, path: &Path, screen: Screen) -> Page<'_> {
        let target = self.call(None, "Target.createTarget", &json!({ "url": "about:blank" }))["targetId"].clone();
        let session = self.call(None, "Target.attachToTarget", &json!({ "targetId": target, "flatten": true }))["sessionId"].clone();
        let mut page = Page { session: session.as_str().unwrap().to_owned(), browser: self };
        for domain in ["Page.enable", "Runtime.enable", "Log.enable", "Network.enable"] {
            page.call(domain, &json!({}));
        }
        page.show(screen);
        page.browser.events.clear();
        page.call("Page.navigate", &json!({ "url": format!("file://{}", path.display()) }));
        page.wait_for("Page.loadEventFired");
        page.settle();
        page
    }

    fn call(&mut self, session: Option<&str>, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        write!(self.commands, "{message}\0").unwrap();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let answer = self.receive(deadline, method);
            if answer["id"] == json!(id) {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn receive(&mut self, deadline: Instant, what: &str) -> Value {
        match self.messages.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => panic!("chromium did not answer in {PATIENCE:?}: {what}"),
            Err(RecvTimeoutError::Disconnected) => panic!("chromium ended: {what}"),
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Asked first, so that its helpers end with it; then its own process, by its id.
        let _ = write!(self.commands, "{}\0", json!({ "id": 0, "method": "Browser.close" }));
        for _ in 0..50 {
            if matches!(self.process.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Page<'_> {
    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.browser.call(Some(&self.session), method, params)
    }

    fn wait_for(&mut self, event: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.browser.events.iter().any(|message| message["method"] == event) {
            let message = self.browser.receive(deadline, event);
            self.browser.events.push(message);
        }
    }

    /// Sets size and colour scheme, of an open page too.
    pub fn show(&mut self, screen: Screen) {
        let Screen { width, height, dark } = screen;
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 640 });
        self.call("Emulation.setDeviceMetricsOverride", &metrics);
        self.medium("", dark);
    }

    /// Shows it as on paper (`print`) or as on a screen (an empty word), light or dark.
    pub fn medium(&mut self, medium: &str, dark: bool) {
        let scheme = json!([{ "name": "prefers-color-scheme", "value": if dark { "dark" } else { "light" } }]);
        self.call("Emulation.setEmulatedMedia", &json!({ "media": medium, "features": scheme }));
    }

    /// Moves the pointer to a place of the screen.
    pub fn point(&mut self, x: f64, y: f64) {
        self.call("Input.dispatchMouseEvent", &json!({ "type": "mouseMoved", "x": x, "y": y }));
    }

    /// Presses and releases a key.
    pub fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", &json!({ "type": kind, "key": key, "code": key }));
        }
    }

    /// Two frames and a moment, for what is drawn after an event.
    pub fn settle(&mut self) {
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 250))))");
    }

    /// The value of an expression of JavaScript.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", &params);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// What went wrong so far: console errors and warnings, uncaught
    /// exceptions, refused content.
    pub fn complaints(&mut self) -> Vec<String> {
        self.evaluate("0");
        let bad = |message: &&Value| match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => matches!(message["params"]["type"].as_str(), Some("error" | "warning" | "assert")),
            Some("Log.entryAdded") => matches!(message["params"]["entry"]["level"].as_str(), Some("error" | "warning")),
            _ => false,
        };
        self.browser.events.iter().filter(bad).map(Value::to_string).collect()
    }

    /// Where files go that the page lets the reader save.
    pub fn save_into(&mut self, folder: &Path) {
        self.browser.call(None, "Browser.setDownloadBehavior", &json!({ "behavior": "allow", "downloadPath": folder }));
    }

    /// Addresses that were asked for, next to the page itself.
    pub fn requests(&mut self) -> Vec<String> {
        self.evaluate("0");
        let asked = self.browser.events.iter().filter(|message| message["method"] == "Network.requestWillBeSent");
        let address = |message: &Value| message["params"]["request"]["url"].as_str().unwrap_or_default().to_owned();
        asked.map(address).filter(|url| !url.starts_with("file://") && !url.starts_with("data:") && !url.starts_with("blob:")).collect()
    }

    /// Pictures of the whole page for people, in pieces short enough to look at, where they are wanted: `NAME-0.png`, ...
    pub fn screenshots(&mut self, folder: &Path, name: &str) {
        if std::env::var_os("NETTOLL_PICTURES").is_none() {
            return;
        }
        const PIECE: u64 = 1_500;
        let size = self.evaluate("[document.documentElement.clientWidth, document.documentElement.scrollHeight]");
        let height = size[1].as_u64().unwrap();
        for piece in 0..height.div_ceil(PIECE) {
            let top = piece * PIECE;
            let clip = json!({ "x": 0, "y": top, "width": size[0], "height": PIECE.min(height - top), "scale": 1 });
            let picture = self.call("Page.captureScreenshot", &json!({ "format": "png", "captureBeyondViewport": true, "clip": clip }));
            self.save(&picture, &folder.join(format!("{name}-{piece}.png")));
        }
    }

    /// A picture of the whole page, `scale` times as large, in base 64.
    pub fn picture(&mut self, scale: f64) -> String {
        let size = self.evaluate("[document.documentElement.clientWidth, document.documentElement.scrollHeight]");
        let clip = json!({ "x": 0, "y": 0, "width": size[0], "height": size[1], "scale": scale });
        let picture = self.call("Page.captureScreenshot", &json!({ "format": "png", "captureBeyondViewport": true, "clip": clip }));
        picture["data"].as_str().unwrap().to_owned()
    }

    fn save(&self, answer: &Value, path: &Path) {
        let bytes = base64::engine::general_purpose::STANDARD.decode(answer["data"].as_str().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// The page as it would be printed, as PDF.
    pub fn print(&mut self, path: &Path) {
        let paper = self.call("Page.printToPDF", &json!({ "printBackground": false, "paperWidth": 8.27, "paperHeight": 11.69 }));
        self.save(&paper, path);
    }
}
