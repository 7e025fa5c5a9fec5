//! The page of `manyfiles explain --html`, in a real browser: its charts are there, nothing is reported to the console,
//! and it makes no request.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{manyfiles, read};
use manyfiles_testkit::skip;
use serde_json::Value;
use tempfile::{TempDir, tempdir};

/// Looks at every chart once the page is laid out, and writes the figures into the document, where `--dump-dom` shows
/// them.
const LOOK: &str = r#"<script>
addEventListener('load', () => {
  const box = e => { const r = e.getBoundingClientRect(); return { width: r.width, height: r.height }; };
  const found = {
    charts: [...document.querySelectorAll('svg.chart')].map(svg => ({
      ...box(svg),
      title: svg.querySelector('title').textContent,
      described: svg.getAttribute('aria-labelledby').split(' ').every(id => document.getElementById(id)),
      marks: [...svg.querySelectorAll('rect')].filter(rect => { const b = box(rect); return b.width > 0 && b.height > 0; }).length,
      colours: new Set([...svg.querySelectorAll('rect')].map(rect => getComputedStyle(rect).fill)).size,
    })),
    bars: [...document.querySelectorAll('.bar i')].filter(bar => box(bar).width > 0 && box(bar).height > 0).length,
    rows: document.querySelectorAll('tbody tr').length,
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    paper: getComputedStyle(document.body).backgroundColor,
    requests: performance.getEntriesByType('resource').map(entry => entry.name),
  };
  const out = document.createElement('pre');
  out.id = 'found';
  out.textContent = JSON.stringify(found);
  document.body.append(out);
});
</script></body>"#;

fn browser() -> Option<PathBuf> {
    let names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = names.iter().find_map(|name| {
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
    });
    if found.is_none() {
        skip("needs a browser: scripts/browser installs one");
    }
    found
}

/// Loads a page at a size: the document as it is then, and what the console said.
fn load(browser: &Path, page: &Path, width: u32, dark: bool) -> (String, Vec<String>) {
    let profile = tempdir().unwrap();
    let mut command = Command::new(browser);
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--window-size={width},2000"))
        .args(["--virtual-time-budget=5000", "--dump-dom"]);
    if dark {
        command.arg("--blink-settings=preferredColorScheme=0");
    }
    let output = command.arg(format!("file://{}", page.display())).output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    let said = log.lines().filter(|line| line.contains("CONSOLE")).map(String::from).collect();
    (String::from_utf8(output.stdout).unwrap(), said)
}

/// The figures of a page that looks at itself. The page must print nothing on the console.
#[track_caller]
fn look(browser: &Path, page: &Path, width: u32, dark: bool) -> Value {
    let (dom, said) = load(browser, page, width, dark);
    assert_eq!(said, Vec::<String>::new());
    let found = dom.split("<pre id=\"found\">").nth(1).and_then(|rest| rest.split("</pre>").next());
    let found = found.unwrap_or_else(|| panic!("the page did not load: {dom}")).replace("&amp;", "&");
    serde_json::from_str(&found).unwrap_or_else(|error| panic!("{error}: {found}"))
}

/// A page made from a trace, and a copy that looks at itself. The copy may run its script; the page itself allows none.
fn pages(trace: &str) -> (TempDir, PathBuf) {
    let temp = tempdir().unwrap();
    // A path without a place to break it, as long as people's are: the page names it.
    let path = temp.path().join("x".repeat(120)).join(trace);
    fs::create_dir(path.parent().unwrap()).unwrap();
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/fixtures").join(trace), &path).unwrap();
    let ran = manyfiles(temp.path(), &["explain", path.to_str().unwrap(), "-q", "--html", "page.html"]);
    assert!(ran.code <= 1, "{ran:#?}");
    let page = read(temp.path().join("page.html"));
    let policy = "default-src 'none'; style-src 'unsafe-inline'";
    assert!(page.contains(policy) && !page.contains("<script"), "the page runs nothing, and loads nothing");
    let looking = page.replace(policy, "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'");
    let copy = temp.path().join("looking.html");
    fs::write(&copy, looking.replace("</body>", LOOK)).unwrap();
    (temp, copy)
}

#[test]
fn the_page_shows_its_charts_in_a_browser_and_makes_no_request() {
    let Some(browser) = browser() else { return };
    for trace in ["strace.txt", "procmon.csv", "perf.txt"] {
        let (_temp, copy) = pages(trace);
        let found = look(&browser, &copy, 1200, false);
        let charts = found["charts"].as_array().unwrap();
        assert!(charts.len() >= 4, "a timeline and distributions: {found}");
        for chart in charts {
            assert!(chart["width"].as_f64() > Some(150.0) && chart["height"].as_f64() > Some(80.0), "{chart}");
            assert!(chart["marks"].as_u64() > Some(0), "nothing is drawn: {chart}");
            assert_eq!(chart["described"], true, "{chart}");
        }
        assert!(charts[0]["colours"].as_u64() >= Some(3), "kinds of calls have colours: {}", charts[0]);
        assert!(found["bars"].as_u64() > Some(2) && found["rows"].as_u64() > Some(10), "{found}");
        assert_eq!(found["requests"].as_array().map(Vec::len), Some(0), "{found}");
    }
}

#[test]
fn the_console_hears_nothing_from_the_page_as_it_is_and_would_tell() {
    let Some(browser) = browser() else { return };
    let (temp, _) = pages("strace.txt");
    let (dom, said) = load(&browser, &temp.path().join("page.html"), 1200, false);
    assert!(dom.contains("Where the time goes"), "{dom}");
    assert_eq!(said, Vec::<String>::new());
    let temp = tempdir().unwrap();
    let page = temp.path().join("page.html");
    fs::write(&page, "<script>nothing_of_that_name()</script>").unwrap();
    let (_, said) = load(&browser, &page, 800, false);
    assert!(said.iter().any(|line| line.contains("nothing_of_that_name")), "{said:?}");
}

#[test]
fn the_page_fits_a_telephone_and_follows_the_systems_light_and_dark() {
    let Some(browser) = browser() else { return };
    let (_temp, copy) = pages("strace.txt");
    let light = look(&browser, &copy, 1200, false);
    let narrow = look(&browser, &copy, 500, true);
    assert_eq!((light["overflow"].as_i64(), narrow["overflow"].as_i64()), (Some(0), Some(0)), "{narrow}");
    assert_ne!(light["paper"], narrow["paper"]);
}

#[test]
#[cfg(unix)] // Windows has no such names.
fn names_cannot_put_anything_into_the_page() {
    let temp = tempdir().unwrap();
    let evil = "7 openat(AT_FDCWD, \"/tmp/<script>alert(1)</script>'&\\\"x\", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3 <0.001000>\n\
                7 <img src=x onerror=alert(1)>\n7 close(3) = 0 <0.002000>\n";
    fs::write(temp.path().join("<b>trace"), evil).unwrap();
    manyfiles(temp.path(), &["explain", "<b>trace", "-q", "--html", "page.html"]).code(1);
    let page = read(temp.path().join("page.html"));
    for tag in ["<script", "<img", "<b>"] {
        assert!(!page.contains(tag), "{tag}");
    }
    assert!(page.contains("/tmp/&lt;script&gt;alert(1)&lt;/script&gt;&#39;&amp;&quot;x"));
}
