//! The page of a server's run: its field for requests per second, which is the one thing that a
//! page computes itself.

use super::{browser, can_be_read, page, strings};
use crate::webdriver::{Browser, key};
use serde_json::json;
use zc_testkit::server::server;

/// Texts of the table of cores, row by row.
fn cores(browser: &Browser) -> Vec<String> {
    strings(&browser.script(
        "return Array.from(document.querySelectorAll('.cores tbody td')).map(cell => \
         cell.textContent)",
    ))
}

fn figures(text: &str) -> Vec<f64> {
    text.split(" ±").map(|part| part.parse().unwrap_or_else(|_| panic!("{text:?}"))).collect()
}

#[test]
fn the_cores_at_a_typed_rate_are_those_of_the_run_times_the_rate() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = page(folder.path(), &[server(0.667)]);
    let scripts = |off: bool| {
        browser.devtools("Emulation.setScriptExecutionDisabled", &json!({"value": off}));
        browser.open(&file);
    };
    scripts(true);
    let written = cores(&browser);
    let fields = "return document.querySelectorAll('input').length";
    assert_eq!(browser.script(fields), 0, "what does nothing is not there");
    assert_eq!(written[1], "", "the first state saves nothing against itself: {written:?}");
    scripts(false);
    assert_eq!(browser.console(), []);
    assert_eq!(cores(&browser), written, "the script rounds as the program does");

    // Ten times the rate of the run.
    let field = "const field = document.querySelector('.cores input');";
    let own = browser.script(&format!("{field} return field.value"));
    let own: f64 = own.as_str().unwrap().parse().unwrap();
    assert_eq!(own, 7812.5);
    let label = browser.script(&format!("{field} return field.labels[0].textContent"));
    assert!(label.as_str().unwrap().contains("requests per second"), "{label}");
    browser.script(&format!("{field} field.focus(); field.select()"));
    browser.press(&"78125".chars().collect::<Vec<_>>());
    for (ten, one) in cores(&browser).iter().zip(&written).filter(|(_, one)| !one.is_empty()) {
        for (ten, one) in figures(ten).iter().zip(figures(one)) {
            // Each as it is rounded.
            assert!((ten - 10.0 * one).abs() <= 0.05 + 0.05 * ten.abs(), "{ten} of {one}");
        }
        assert_ne!(ten, one);
    }
    // What is no rate leaves that of the run, and is marked.
    let invalid = format!("{field} return field.getAttribute('aria-invalid')");
    assert_eq!(browser.script(&invalid), "false");
    for nothing in ["", "0", "-5", "1e99"] {
        browser.script(&format!(
            "{field} field.value = '{nothing}'; field.dispatchEvent(new Event('input'))"
        ));
        assert_eq!(cores(&browser), written, "{nothing:?}");
        assert_eq!(browser.script(&invalid), "true", "{nothing:?}");
    }
    // By key alone: from the list of units to the field, and up.
    browser.script(&format!("{field} field.value = '100'; field.focus()"));
    browser.press(&[key::DOWN]);
    assert_eq!(browser.script(&format!("{field} return field.value")), "99");
    assert_ne!(cores(&browser), written);
}

#[test]
fn a_server_s_page_fits_a_telephone_and_can_be_read_in_light_and_in_dark() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    browser.width(360);
    browser.open(&page(folder.path(), &[server(0.667), server(0.9)]));
    assert_eq!(browser.console(), []);
    can_be_read(&browser);
    let charts = browser.script("return document.querySelectorAll('.chart svg[role=img]').length");
    assert_eq!(charts, 8, "cost, accounts, latencies and blocks of each run");
    // A figure is read out with its unit.
    browser.script("document.querySelector('.chart .plot').focus()");
    browser.press(&[key::RIGHT]);
    let read = browser.script("return document.querySelector('.chart .read').textContent");
    assert!(read.as_str().is_some_and(|read| read.ends_with(" us/request")), "{read}");
}
