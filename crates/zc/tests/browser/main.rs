//! The pages of `zc report` and `zc compare` in a real browser, opened from a file: what a reader
//! of it sees and can do. Debian's chromium, headless, by its own driver; skipped where it is not
//! installed (`apt-get install chromium chromium-driver`).

#![expect(clippy::disallowed_methods, reason = "a test that gets no thread may panic")]

mod advise;
mod fleet;
#[path = "../it/support/running.rs"]
#[expect(dead_code, reason = "the tests of the page need a part of it")]
mod running;
mod server;
mod webdriver;

use std::path::{Path, PathBuf};
use std::process::Command;

use running::Bounded as _;
use serde_json::Value;
use webdriver::{Browser, key};
use zc_run::{Factor, Level, Run, SendPath, Severity, Warning};
use zc_testkit::synthetic::{Synthetic, TrueCell, null_link, size_sweep};

/// A browser, or the reason why there is none on stderr.
fn browser() -> Option<Browser> {
    match Browser::start() {
        Ok(browser) => Some(browser),
        Err(missing) => {
            eprintln!("skipped: no browser: {}", missing.0);
            None
        }
    }
}

/// Every combination of levels, at a cost that depends on all of them.
fn crossed(experiment: &str, factors: &[(Factor, &[&str])]) -> Run {
    let mut cells: Vec<(Vec<&str>, TrueCell)> =
        vec![(Vec::new(), TrueCell::new(SendPath::ReadSend, 300.0, 250.0))];
    for (factor, levels) in factors {
        cells = cells
            .iter()
            .flat_map(|(names, cell)| {
                levels.iter().enumerate().map(move |(place, level)| {
                    let (mut names, mut cell) = (names.clone(), cell.clone());
                    Level::parse(*factor, level).unwrap().put(&mut cell.cell);
                    names.push(*level);
                    cell.sender_ns_per_kib *= 1.0 + 0.35 * place as f64;
                    cell.receiver_ns_per_kib *= 1.0 + 0.2 * place as f64;
                    (names, cell)
                })
            })
            .collect();
    }
    let mut cells: Vec<TrueCell> = cells
        .into_iter()
        .map(|(names, mut cell)| {
            cell.cell.label = names.join(" ");
            cell
        })
        .collect();
    cells.push(cells[0].control());
    let factors = factors.iter().map(|(factor, _)| *factor).collect();
    let mut run = Synthetic { cells, factors, blocks: 12, ..Synthetic::default() }.run();
    run.header.plan.experiment = experiment.to_owned();
    run
}

/// A run for every kind of chart.
fn runs() -> Vec<Run> {
    let sizes: Vec<usize> = (8..23).map(|power| 1 << power).collect();
    let paths = [
        (SendPath::ReadSend, 1500.0, 250.0),
        (SendPath::Sendfile, 3500.0, 120.0),
        (SendPath::Splice, 4500.0, 110.0),
    ];
    let mut by_size = null_link(
        Synthetic {
            cells: size_sweep(&paths, &sizes),
            factors: vec![Factor::Message, Factor::Send],
            blocks: 16,
            ..Synthetic::default()
        }
        .run(),
    );
    by_size.header.plan.experiment = "sizes".to_owned();
    let sends = (Factor::Send, ["read+send", "sendfile"].as_slice());
    vec![
        Synthetic::default().run(),
        by_size,
        crossed(
            "sockbuf",
            &[
                (Factor::Sockbuf, &["32k", "64k", "128k"]),
                (Factor::Message, &["64k", "1m", "5m"]),
                sends,
            ],
        ),
        crossed(
            "cork",
            &[
                (Factor::Message, &["64", "4k", "64k"]),
                (Factor::Push, &["plain", "cork", "more", "nodelay"]),
            ],
        ),
        crossed("flows", &[(Factor::Flows, &["1", "4", "16", "64", "256", "1000"]), sends]),
        crossed(
            "pacing",
            &[
                (Factor::Rate, &["50MB/s", "100MB/s", "200MB/s", "400MB/s", "800MB/s", "1.2GB/s"]),
                sends,
            ],
        ),
        zc_testkit::server::server(0.667),
    ]
}

/// The page that `zc report` makes of saved runs.
fn page(folder: &Path, runs: &[Run]) -> PathBuf {
    written(folder, &["report"], runs)
}

/// The page that a command makes of saved runs.
fn written(folder: &Path, args: &[&str], runs: &[Run]) -> PathBuf {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zc"));
    command.args(args).current_dir(folder);
    for (place, run) in runs.iter().enumerate() {
        let name = format!("{place}.json");
        std::fs::write(folder.join(&name), zc_run::run_lines(run)).unwrap();
        command.arg(name);
    }
    let output = command.args(["-o", "page.html"]).finish().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.join("page.html")
}

/// The strings of an answer.
fn strings(answer: &Value) -> Vec<String> {
    let each = answer.as_array().unwrap_or_else(|| panic!("no list: {answer}")).iter();
    each.map(|each| each.as_str().unwrap_or_default().to_owned()).collect()
}

/// Texts of a column of the first table, from top to bottom.
fn column(browser: &Browser, column: usize) -> Vec<String> {
    strings(&browser.script(&format!(
        "return Array.from(document.querySelector('table').tBodies[0].rows).map(row => \
         row.cells[{column}].textContent)"
    )))
}

/// Checks that nothing is wider than the window, and all has contrast enough in light and in dark.
#[track_caller]
fn can_be_read(browser: &Browser) {
    assert_eq!(strings(&browser.script(WIDE)), [""; 0]);
    for scheme in ["light", "dark"] {
        browser.scheme(scheme);
        assert_eq!(strings(&browser.script(CONTRASTS)), [""; 0], "in {scheme}");
    }
}

#[test]
fn it_opens_from_a_file_without_an_error_and_every_chart_and_table_is_seen() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = page(folder.path(), &runs());
    let bytes = file.metadata().unwrap().len();
    assert!(bytes < 400_000, "{bytes} bytes");
    for width in [1200, 360] {
        browser.width(width);
        browser.open(&file);
        assert_eq!(browser.console(), [], "at {width}");
        let fetched = browser
            .script("return performance.getEntriesByType('resource').map(each => each.name)");
        assert_eq!(strings(&fetched), [""; 0], "it fetches nothing");

        let charts = browser.script(
            "return Array.from(document.querySelectorAll('.chart svg[role=img]')).map(svg => {
                const box = svg.getBoundingClientRect();
                const all = Array.from(svg.querySelectorAll('use,rect,path.dots'));
                const marks = all.filter(mark => {
                    const box = mark.getBoundingClientRect();
                    return box.width > 2 && box.height > 2;
                });
                const named = document.getElementById(svg.getAttribute('aria-labelledby'));
                const described = document.getElementById(svg.getAttribute('aria-describedby'));
                const ok = box.width > 100 && box.height > 30 && marks.length > 0
                    && named.textContent && described.textContent;
                return ok ? '' : named.textContent + ' ' + JSON.stringify(box) + ' ' + marks.length;
            })",
        );
        let charts = strings(&charts);
        assert!(charts.len() >= 12, "{} charts", charts.len());
        assert!(charts.iter().all(String::is_empty), "at {width}: {charts:?}");
        // Marks lie in their chart, and no text of a chart lies on another.
        let astray = browser.script(
            "const wrong = [];
            document.querySelectorAll('.chart svg[role=img]').forEach(svg => {
                const outer = svg.getBoundingClientRect();
                svg.querySelectorAll('use').forEach(mark => {
                    const box = mark.getBoundingClientRect();
                    if (box.right < outer.left - 8 || box.left > outer.right + 8
                        || box.bottom < outer.top - 8 || box.top > outer.bottom)
                        wrong.push('mark ' + mark.dataset.n);
                });
                const texts = Array.from(svg.querySelectorAll('text'))
                    .filter(text => text.getClientRects().length && text.textContent)
                    .map(text => [text.textContent, text.getBoundingClientRect()]);
                texts.forEach(([a, x], place) => texts.slice(place + 1).forEach(([b, y]) => {
                    if (Math.min(x.right, y.right) - Math.max(x.left, y.left) > 1
                        && Math.min(x.bottom, y.bottom) - Math.max(x.top, y.top) > 3)
                        wrong.push(a + ' lies on ' + b);
                }));
            });
            return wrong",
        );
        assert_eq!(strings(&astray), [""; 0], "at {width}");
        let tables = browser.script(
            "const columns = table => Array.from(table.tHead.rows[0].cells);
            return Array.from(document.querySelectorAll('table'))
                .filter(table =>
                    !(table.caption && table.caption.textContent
                        && table.querySelector('tbody th[scope=row]')
                        && columns(table).every(cell => cell.scope === 'col')))
                .map(table => table.textContent)",
        );
        assert_eq!(strings(&tables), [""; 0], "tables without caption or scopes");
        let tables = browser.script("return document.querySelectorAll('table').length").as_u64();
        assert!(tables >= Some(6), "a table for each run at least: {tables:?}");
    }
    let outline = browser.script(
        "let last = 0;
        const all = selector => Array.from(document.querySelectorAll(selector));
        return all('h1,h2,h3,h4').map(heading => {
            const level = Number(heading.tagName[1]), ok = level <= last + 1;
            last = level;
            return ok ? '' : heading.textContent;
        })
        .concat(['main', 'nav', 'header', 'footer']
            .map(each => all(each).length === 1 ? '' : each))
        .concat(all('[id]').filter(each => all('#' + each.id).length > 1).map(each => each.id))
        .concat(all('nav a')
            .filter(each => !document.querySelector(each.getAttribute('href')))
            .map(each => each.href))",
    );
    assert!(
        strings(&outline).iter().all(String::is_empty),
        "headings, landmarks, names of places: {outline}"
    );
}

#[test]
fn tables_are_sorted_and_the_unit_is_switched_by_click_and_by_key() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    browser.width(1200);
    browser.open(&page(folder.path(), &runs()));
    let number = |text: &String| text.split(' ').next().unwrap().parse::<f64>().unwrap();
    let both = || -> Vec<f64> { column(&browser, 3).iter().map(number).collect() };
    let cheapest_first = both();
    assert!(cheapest_first.is_sorted(), "{cheapest_first:?}");

    // By click: up, then down.
    browser.click("table thead th:nth-child(4) button");
    assert_eq!(both(), cheapest_first);
    browser.click("table thead th:nth-child(4) button");
    assert!(both().is_sorted_by(|a, b| a >= b), "{:?}", both());
    let sorted = "return Array.from(document.querySelectorAll('table thead th')).filter(th => \
        th.ariaSort).map(th => th.ariaSort)";
    assert_eq!(strings(&browser.script(sorted)), ["descending"]);
    // By key, on the names.
    browser.script("document.querySelector('table thead th button').focus()");
    browser.press(&[key::ENTER]);
    let names = column(&browser, 0);
    assert!(names.is_sorted(), "{names:?}");
    browser.press(&[key::TAB, ' ']);
    assert_eq!(
        strings(&browser.script(sorted)),
        ["ascending"],
        "the next heading, and that one alone"
    );
    // What says nothing stands last, whichever way.
    browser.click("table thead th:nth-child(9) button");
    browser.click("table thead th:nth-child(9) button");
    assert_eq!(column(&browser, 8).last().unwrap(), "");
    // Sizes are sorted by what they are.
    let sizes = "return Array.from(Array.from(document.querySelectorAll('#run-2 \
        table'))[0].tBodies[0].rows).map(row => row.cells[0].textContent)";
    browser.script("document.querySelector('#run-2 table thead button').focus()");
    browser.press(&[key::ENTER, key::ENTER]);
    let sizes = strings(&browser.script(sizes));
    assert_eq!((sizes[0].as_str(), sizes[14].as_str()), ("4m", "256"), "{sizes:?}");

    // Units: by key in the list, then by choice.
    browser.click("table thead th:nth-child(4) button");
    let (us_per_mb, before) = (both(), column(&browser, 4));
    let axis = "return Array.from(document.querySelectorAll('.chart .a.on text')).slice(0, \
        4).map(text => text.textContent)";
    let ticks = strings(&browser.script(axis));
    browser.script("document.getElementById('unit').focus()");
    browser.press(&[key::DOWN, key::DOWN]);
    let unit = "return [document.getElementById('unit').value, document.querySelector('table \
                .u').textContent, \
                document.querySelector('figcaption .u').textContent, document.querySelector('.plot \
                text.u').textContent]";
    assert_eq!(strings(&browser.script(unit)), ["ns/KiB"; 4]);
    for (us_per_mb, ns_per_kib) in us_per_mb.iter().zip(both()) {
        // 1000 ns per us, 1024 bytes per KiB; each as it is rounded.
        assert!(
            (ns_per_kib / (us_per_mb * 1.024) - 1.0).abs() < 0.01,
            "{us_per_mb} us/MB, {ns_per_kib} ns/KiB"
        );
    }
    assert_eq!(column(&browser, 4), before, "a ratio has no unit");
    browser.script(
        "const list = document.getElementById('unit'); list.value = 'cores at 100 \
        Gbit/s'; list.dispatchEvent(new Event('change'))",
    );
    assert_ne!(strings(&browser.script(axis)), ticks, "the axes change too");
    browser.click("#unit option:first-child");
    assert_eq!((both(), strings(&browser.script(axis))), (us_per_mb, ticks), "and back");

    // Figures of marks: under the pointer, and by arrow keys.
    let read = "return document.querySelector('.chart .read').textContent";
    browser.click(".chart use[data-k]");
    let first = browser.script(read).as_str().unwrap().to_owned();
    assert!(first.contains("us/MB") && first.contains('±'), "{first:?}");
    browser.script("document.activeElement.blur(); document.querySelector('.chart .plot').focus()");
    browser.press(&[key::RIGHT]);
    let one = browser.script(read);
    browser.press(&[key::RIGHT]);
    assert_ne!(browser.script(read), one);
    assert_eq!(browser.console(), []);
}

/// Contrast by WCAG 2.2, 1.4.3 and 1.4.11: text 4.5 to 1 with its background, marks 3 to 1.
const CONTRASTS: &str = "
    const channel = value => {
        value /= 255;
        return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    };
    const parts = colour => colour.match(/[\\d.]+/g).map(Number);
    const luminance = colour => {
        const [r, g, b] = parts(colour);
        return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    };
    const contrast = (a, b) => {
        const [x, y] = [luminance(a), luminance(b)];
        return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
    };
    const opaque = colour => { const all = parts(colour); return all.length < 4 || all[3] > 0.99; };
    const ground = element => {
        for (let each = element; each; each = each.parentElement) {
            const colour = getComputedStyle(each).backgroundColor;
            if (opaque(colour)) return colour;
        }
        return 'rgb(255, 255, 255)';
    };
    const wrong = new Set();
    const check = (what, a, b, least) => {
        const is = contrast(a, b);
        if (is < least) wrong.add(what + ': ' + a + ' on ' + b + ' is ' + is.toFixed(2));
    };
    document.querySelectorAll('body *').forEach(element => {
        const style = getComputedStyle(element);
        if (!element.getClientRects().length || style.visibility === 'hidden') return;
        const own = Array.from(element.childNodes)
            .some(node => node.nodeType === 3 && node.textContent.trim());
        if (element instanceof SVGElement) {
            const text = element.closest('text');
            const shade = /(?:^| )k(\\d)/.exec((text || element).getAttribute('class') || '');
            const on = shade
                ? getComputedStyle(element.closest('svg').querySelector('.h' + shade[1])).fill
                : ground(element.closest('div,li'));
            if (own && text) check(element.textContent, getComputedStyle(text).fill, on, 4.5);
            if (element.tagName === 'use') check('mark', style.color, on, 3);
        } else if (own) check(element.textContent.slice(0, 30), style.color, ground(element), 4.5);
    });
    return Array.from(wrong)";

/// Elements that are wider than a telephone.
const WIDE: &str = "const width = document.documentElement.scrollWidth;
    const wrong = width > 360 ? ['page ' + width] : [];
    document.querySelectorAll('body *').forEach(element => {
        const box = element.getBoundingClientRect();
        if (box.width && (box.right > 361 || box.left < -1)
            && !element.closest('.scroll,pre,nav,.skip,.defs'))
            wrong.push(element.tagName + '.' + element.getAttribute('class') + ' '
                + (element.textContent || '').slice(0, 40) + ' ' + box.left + ' to ' + box.right);
    });
    return wrong.slice(0, 20)";

#[test]
fn it_fits_a_telephone_and_can_be_read_in_light_and_in_dark() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = page(folder.path(), &runs());
    browser.width(360);
    browser.open(&file);
    assert_eq!(strings(&browser.script(WIDE)), [""; 0]);
    let papers: Vec<Value> = ["light", "dark"]
        .map(|scheme| {
            browser.scheme(scheme);
            assert_eq!(strings(&browser.script(CONTRASTS)), [""; 0], "in {scheme}");
            browser.script("return getComputedStyle(document.body).backgroundColor")
        })
        .to_vec();
    assert_ne!(papers[0], papers[1]);
}

#[test]
fn the_page_of_a_comparison_has_its_ratios_under_the_pointer_and_fits_a_telephone() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut after = Synthetic { seed: 7, ..Synthetic::default() }.run();
    after.header.started_at = "2026-11-22T12:00:00Z".to_owned();
    let file = written(folder.path(), &["compare", "--html"], &[Synthetic::default().run(), after]);
    browser.width(360);
    browser.open(&file);
    assert_eq!(browser.console(), []);
    can_be_read(&browser);
    browser.script("document.querySelector('.chart .plot').focus()");
    browser.press(&[key::RIGHT]);
    let read = browser.script("return document.querySelector('.chart .read').textContent");
    assert!(
        read.as_str().is_some_and(|read| read.ends_with(" new / old") && read.contains('±')),
        "{read}"
    );
    // Costs of the table have units here too.
    let old = column(&browser, 1);
    browser.script("document.getElementById('unit').focus()");
    browser.press(&[key::DOWN]);
    assert_ne!(column(&browser, 1), old);
}

#[test]
fn without_javascript_it_is_complete() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = page(folder.path(), &runs());
    browser.devtools("Emulation.setScriptExecutionDisabled", &serde_json::json!({"value": true}));
    browser.open(&file);
    // The driver's own questions are still answered.
    let seen = browser.script(
        "const hidden = Array.from(document.querySelectorAll('main *'))
            .filter(each => !each.closest('details,desc,.a:not(.on),.o')
                && each.tagName !== 'desc' && !each.getClientRects().length
                && each.textContent.trim());
        return [String(document.querySelectorAll('th button, output').length),
            String(document.getElementById('units').hidden)]
            .concat(hidden.map(each => each.tagName + ' ' + each.textContent.slice(0, 40)))",
    );
    assert_eq!(
        strings(&seen),
        ["0", "true"],
        "no button, no list of units, and nothing else that is not to be seen"
    );
}

#[test]
fn what_a_run_says_is_never_taken_as_markup() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let hostile = "</script><script>document.title='got'</script><img src=x \
        onerror=\"document.title='got'\">'\"";
    let mut run = Synthetic::default().run();
    run.header.host.hostname = hostile.to_owned();
    run.header.host.cpu.model = hostile.to_owned();
    run.header.plan.experiment = hostile.to_owned();
    run.header.plan.files.filesystem = hostile.to_owned();
    run.header.command.push(hostile.to_owned());
    run.header.host.sysctls.insert(hostile.to_owned(), hostile.to_owned());
    run.header.warnings.push(Warning::new(hostile, Severity::Doubt, hostile).remedy(hostile));
    let label = format!("{hostile} cell");
    for slot in run.blocks.iter_mut().flat_map(|block| &mut block.slots) {
        if let zc_run::Slot::Trial(trial) = slot
            && trial.cell == "sendfile"
        {
            trial.cell.clone_from(&label);
        }
    }
    run.header
        .plan
        .cells
        .iter_mut()
        .filter(|cell| cell.label == "sendfile")
        .for_each(|cell| cell.label.clone_from(&label));
    browser.open(&page(folder.path(), &[run]));
    assert_eq!(browser.console(), []);
    let seen = browser.script(
        "return [document.title.slice(0, 27), String(document.images.length),
            String(document.scripts.length),
            String(document.querySelectorAll('[onerror],[src]').length),
            document.querySelector('tbody th').textContent.slice(0, 9)]",
    );
    assert_eq!(strings(&seen), ["What sending over TCP costs", "0", "2", "0", "</script>"]);
}
