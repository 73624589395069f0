//! The report in a real browser: headless Chromium, if there is one. `FPSTORE_CHROMIUM` names
//! another program than `chromium`; without one these tests say that they were skipped.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Scratch;
use crate::report::{Point, assert_same, expected, order, page};

/// What a page tells of itself after its own scripts have run: the marks with their places on the
/// screen, what the pointer finds over one of them, and whether it is wider than the screen.
const PROBE: &str = r##"<script>
addEventListener("load", () => {
  const charts = {};
  let told = 0, wrong = 0;
  for (const svg of document.querySelectorAll("svg[data-chart]")) {
    charts[svg.dataset.chart] = [...svg.querySelectorAll("[data-id]")].map((mark) => {
      const box = mark.getBoundingClientRect();
      return { id: mark.dataset.id, x: +mark.dataset.x, y: +mark.dataset.y, bar: mark.tagName === "rect",
        left: box.left + box.width / 2, top: box.top + box.height / 2 };
    });
    for (const mark of svg.querySelectorAll("path[data-id]")) {
      const box = mark.getBoundingClientRect();
      const at = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, bubbles: true };
      svg.dispatchEvent(new PointerEvent("pointermove", at));
      const tip = document.getElementById("tip");
      const shown = tip.getBoundingClientRect();
      const inside = shown.left >= 0 && shown.right <= innerWidth;
      if (!tip.hidden && tip.textContent.length > 10 && inside) told++; else wrong++;
    }
  }
  const picked = document.querySelectorAll("tr.picked").length;
  document.querySelector("th button").click();
  const first = document.querySelector("#configurations tbody tr").dataset.id;
  const text = getComputedStyle(document.body);
  const result = { charts, told, wrong, picked, first, width: innerWidth,
    tables: [...document.querySelectorAll("table")].map((table) => {
      const box = table.parentElement;
      return { wide: table.scrollWidth > box.clientWidth, scrolls: getComputedStyle(box).overflowX,
        bar: box.offsetHeight - box.clientHeight };
    }),
    scroll: document.documentElement.scrollWidth, ink: text.color, page: text.backgroundColor };
  const out = document.createElement("pre");
  out.id = "probe";
  out.textContent = JSON.stringify(result);
  document.body.append(out);
});
</script>"##;

fn chromium() -> Option<PathBuf> {
    let name = std::env::var_os("FPSTORE_CHROMIUM").unwrap_or_else(|| "chromium".into());
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).map(|path| path.join(&name)).find(|path| path.is_file())
}

/// Opens a page in a window of this width, and gives what it tells of itself.
fn open(browser: &PathBuf, scratch: &Scratch, width: u32, dark: bool) -> Value {
    let size = format!("--window-size={width},900");
    let scheme = format!("--blink-settings=preferredColorScheme={}", u8::from(!dark));
    let profile = format!("--user-data-dir={}", scratch.path("profile").display());
    let page = format!("file://{}", scratch.path("probed.html").display());
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--virtual-time-budget=5000", "--dump-dom", &size, &scheme, &profile, &page])
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (_, probe) = text.split_once("<pre id=\"probe\">").unwrap_or_else(|| panic!("{text}"));
    let json = probe.split_once("</pre>").unwrap().0;
    let json = json.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    serde_json::from_str(&json).unwrap()
}

#[test]
fn in_a_browser_the_charts_hold_the_points_and_fit_the_screen() {
    let Some(browser) = chromium() else {
        eprintln!("skipped: there is no chromium; install it, or name one by FPSTORE_CHROMIUM");
        return;
    };
    let scratch = Scratch::new();
    let (page, results) = page(&scratch);
    scratch.write("probed.html", page.replace("</body>", &format!("{PROBE}</body>")));
    let mut colours = Vec::new();
    for (width, dark) in [(1280, false), (800, true), (500, true)] {
        let told = open(&browser, &scratch, width, dark);
        let mut found: BTreeMap<String, Vec<Point>> = BTreeMap::new();
        for (chart, marks) in told["charts"].as_object().unwrap() {
            let marks = marks.as_array().unwrap();
            let number = |mark: &Value, name: &str| mark[name].as_f64().unwrap();
            let point = |mark: &Value| {
                (mark["id"].as_str().unwrap().to_string(), number(mark, "x"), number(mark, "y"))
            };
            found.insert(chart.clone(), marks.iter().map(point).collect());
            // What is larger stands further to the right, and higher, on the screen.
            let marks: Vec<_> = marks.iter().filter(|mark| mark["bar"] == false).collect();
            for a in &marks {
                assert!(number(a, "left") > 0.0 && number(a, "left") < f64::from(width), "{a}");
                for b in &marks {
                    let (right, up) =
                        (number(a, "x") - number(b, "x"), number(a, "y") - number(b, "y"));
                    assert!(
                        right <= 0.0 || number(a, "left") >= number(b, "left") - 1.0,
                        "{a} {b}"
                    );
                    assert!(up <= 0.0 || number(a, "top") <= number(b, "top") + 1.0, "{a} {b}");
                }
            }
        }
        found.values_mut().for_each(|points| points.sort_by(order));
        assert_same(&found, &expected(&results));
        assert_eq!(told["wrong"], 0, "every mark tells its values under the pointer");
        assert!(told["told"].as_u64().unwrap() > 50, "{}", told["told"]);
        assert_eq!(told["first"], "24,20,20-1024-gap-auto", "a click on a column sorts");
        assert!(told["scroll"].as_u64() <= told["width"].as_u64(), "no wider than the screen");
        for table in told["tables"].as_array().unwrap() {
            // What is wider than its place has a bar of its own, which is seen.
            assert_eq!(table["scrolls"], "auto", "{table}");
            assert!(table["wide"] == false || table["bar"].as_u64() > Some(4), "{width}: {table}");
        }
        colours.push((told["ink"].clone(), told["page"].clone()));
    }
    assert_ne!(colours[0], colours[2], "dark differs from light");
}
