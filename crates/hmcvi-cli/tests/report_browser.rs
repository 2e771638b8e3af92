//! Open reports in a real browser: nothing goes wrong, all is visible, nothing is fetched, no page is too wide or white in
//! the dark.
//!
//! Needs Chromium or Chrome and its driver: `HMCVI_BROWSER` and `HMCVI_CHROMEDRIVER` name them, else they are looked for
//! on the path. Where one of them is missing, the test says so and passes.

mod common;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use common::{Sandbox, skipped, train};
use serde_json::{Value, json};

/// A program that a variable names, or the first of these on the path.
fn find(variable: &str, names: &[&str]) -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(variable).filter(|v| !v.is_empty()) {
        return Some(named.into());
    }
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    names.iter().flat_map(|n| folders.iter().map(move |f| f.join(n))).find(|p| p.is_file())
}

/// A browser under the control of its driver, which speaks JSON over HTTP.
struct Browser {
    driver: Child,
    session: String,
}

impl Browser {
    fn start(browser: &Path, driver: &Path, width: u32, dark: bool) -> Self {
        let mut driver = Command::new(driver)
            .args(["--port=0", "--log-level=SEVERE"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the driver starts");
        let mut lines =
            BufReader::new(driver.stdout.take().expect("its output")).lines().map_while(Result::ok);
        // "ChromeDriver was started successfully on port 12345.", after a line about port 0.
        let number = |l: String| l.split("on port ").nth(1)?.trim_end_matches('.').trim().parse::<u16>().ok();
        let port = lines.find_map(|l| number(l).filter(|port| *port > 0));
        // The pipe has to stay open for as long as the driver writes to it.
        std::thread::spawn(move || lines.for_each(drop));
        let base = format!("http://127.0.0.1:{}", port.unwrap_or_default());
        let mut arguments = vec![
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
        ];
        if dark {
            arguments.push("--blink-settings=preferredColorScheme=0");
        }
        let metrics = json!({ "width": width, "height": 844, "pixelRatio": 1.0, "mobile": width < 600 });
        let options = json!({
            "binary": browser,
            "args": arguments,
            "mobileEmulation": { "deviceMetrics": metrics },
        });
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        }}});
        // From here on the driver ends with what holds it, also if it does not do what it should.
        let mut started = Browser { session: String::new(), driver };
        let made = post(&format!("{base}/session"), &wanted);
        let session = made["sessionId"].as_str().unwrap_or_else(|| panic!("no session: {made}"));
        started.session = format!("{base}/session/{session}");
        started
    }

    fn open(&self, page: &Path) {
        let page = page.canonicalize().expect("the page is there");
        post(&format!("{}/url", self.session), &json!({ "url": format!("file://{}", page.display()) }));
    }

    fn evaluate(&self, script: &str) -> Value {
        post(&format!("{}/execute/sync", self.session), &json!({ "script": script, "args": [] }))
    }

    /// What was logged since it was last asked for: by the console, or about the network.
    fn log(&self, kind: &str) -> Vec<Value> {
        let log = post(&format!("{}/se/log", self.session), &json!({ "type": kind }));
        log.as_array().cloned().unwrap_or_default()
    }

    /// Addresses that were asked for.
    fn requests(&self) -> Vec<String> {
        let event = |entry: &Value| {
            let message: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let message = &message["message"];
            let sent = message["method"] == "Network.requestWillBeSent";
            sent.then(|| message["params"]["request"]["url"].as_str().map(String::from)).flatten()
        };
        self.log("performance").iter().filter_map(event).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let _ = ureq::delete(&self.session).call();
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

fn post(url: &str, body: &Value) -> Value {
    let config = ureq::Agent::config_builder().http_status_as_error(false).build();
    let request = ureq::Agent::new_with_config(config).post(url).header("Content-Type", "application/json");
    let mut answer = request.send(body.to_string()).expect("the driver answers");
    let text = answer.body_mut().read_to_string().expect("text");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    assert!(value["value"]["error"].is_null(), "{url}: {text}");
    value["value"].clone()
}

/// Figures, pictures and drawings with no size, and what sticks out of the page.
const LOOK: &str = "
    const size = e => { const r = e.getBoundingClientRect(); return [r.width, r.height]; };
    const shown = e => e.offsetParent !== null || e.closest('svg');
    const name = e => e.id || e.className || e.tagName;
    const figures = [...document.querySelectorAll('figure')];
    const broken = figures.filter(f => {
        const drawings = [...f.querySelectorAll('svg[role=img], img')].filter(d => d.parentElement.offsetParent !== null);
        const whole = d => size(d)[0] > 100 && size(d)[1] > 20 && (d.tagName !== 'IMG' || (d.complete && d.naturalWidth > 0));
        return drawings.length !== 1 || !drawings.every(whole) || size(f)[0] < 100;
    });
    const width = document.documentElement.clientWidth;
    const scrolls = e => e.closest('.scroll, pre, nav');
    const wide = [...document.body.querySelectorAll('*')].filter(
        e => !scrolls(e) && !e.closest('svg') && !e.classList.contains('skip') && e.getBoundingClientRect().right > width + 1);
    return {
        figures: figures.length,
        broken: broken.map(name),
        sections: document.querySelectorAll('main > section').length,
        scrollWidth: document.documentElement.scrollWidth,
        width: width,
        wide: wide.map(name).slice(0, 5),
        background: getComputedStyle(document.body).backgroundColor,
        headings: [...document.querySelectorAll('h1')].length,
        hints: [...document.querySelectorAll('.hint')].filter(h => h.offsetParent !== null).length,
        white: [...document.querySelectorAll('body *')].filter(e => {
            const style = getComputedStyle(e), white = 'rgb(255, 255, 255)';
            return style.backgroundColor === white || (e.closest('svg') && style.fill === white);
        }).map(name).slice(0, 5),
        unnamed: [...document.querySelectorAll('img:not([alt]), svg[role=img]:not([aria-label])')].length,
    };
";

#[test]
fn reports_are_whole_in_a_browser() {
    let browser =
        find("HMCVI_BROWSER", &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]);
    let driver = find("HMCVI_CHROMEDRIVER", &["chromedriver", "chromium.chromedriver"]);
    let (Some(browser), Some(driver)) = (browser, driver) else {
        return skipped(
            "no browser with its driver; install Chromium and chromedriver, or set HMCVI_BROWSER and HMCVI_CHROMEDRIVER",
        );
    };
    let sandbox = Sandbox::new();
    train(&sandbox, "basic-2d", "basic", 2);
    // A name that would be a script if it were not written out.
    let evil = "<script>alert(1)<";
    train(&sandbox, "hmcvi-9", evil, 12);
    let few = ["--samples", "50", "--limit", "20", "--draws", "1", "-q"];
    for run in ["basic", evil] {
        sandbox.succeed(
            &[&["eval", run][..], &few, &["--ais", "5", "--temperatures", "10", "--posterior", "1"]].concat(),
        );
    }
    train(&sandbox, "hmcvi-1", "young", 1);
    let pages = [
        ("evaluated.html", vec![evil]),
        ("young.html", vec!["young"]),
        ("compared.html", vec!["basic", evil, "young"]),
    ];
    for (page, runs) in &pages {
        sandbox.succeed(&[&["report", "-q", "--out", page][..], runs].concat());
        let size = std::fs::metadata(sandbox.path().join(page)).expect("written").len();
        assert!(size < 3_000_000, "{page}: {size}");
    }
    let mut backgrounds = Vec::new();
    for (width, dark) in [(390, false), (390, true), (1280, false)] {
        let browser = Browser::start(&browser, &driver, width, dark);
        for (page, _) in &pages {
            browser.requests();
            browser.open(&sandbox.path().join(page));
            let at = format!("{page} at {width}");
            let found = browser.evaluate(LOOK);
            assert_eq!(found["width"], width, "{at}");
            assert_eq!(found["scrollWidth"], width, "{at} scrolls sideways: {}", found["wide"]);
            assert_eq!(found["wide"], json!([]), "{at}");
            assert_eq!(found["broken"], json!([]), "{at}");
            if dark {
                assert_eq!(found["white"], json!([]), "{at} is dark");
            }
            // A comparison is wider than a telephone, and says so there.
            let hinted = found["hints"].as_u64() > Some(0);
            assert!(
                hinted == (width < 600) || (*page == "young.html" && !hinted),
                "{at}: {}",
                found["hints"]
            );
            assert!(
                found["figures"].as_u64() >= Some(5) && found["sections"].as_u64() >= Some(5),
                "{at}: {found}"
            );
            assert_eq!((&found["headings"], &found["unnamed"]), (&json!(1), &json!(0)), "{at}");
            assert_eq!(browser.log("browser"), Vec::<Value>::new(), "{at}: the console is not empty");
            let asked = browser.requests();
            let foreign: Vec<&String> =
                asked.iter().filter(|u| !u.starts_with("data:") && !u.ends_with(page)).collect();
            assert!(foreign.is_empty() && !asked.is_empty(), "{at} asks for {foreign:?} of {asked:?}");
            backgrounds.push(found["background"].clone());
        }
    }
    assert_ne!(backgrounds[0], backgrounds[3], "dark pages are dark");
}
