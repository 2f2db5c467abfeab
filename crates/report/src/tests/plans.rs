//! Snapshots of the reports of plans of several factors.

use proptest::prelude::*;

use super::fixture::{figure, ratio};
use super::fixture_plans::{
    affinity, clients, components, cork, links, mtu, offloads, plan, proxy, receive, sixty, sizes,
    sockbuf, tls, udp,
};
use crate::*;
use zc_analysis::{
    CellEstimate, Estimates, Perturbation, Replay, ReplayedPath, Sides, Withheld, estimate,
};
use zc_run::{
    Experiment, Factor, NfsCall, NfsClient, NfsMount, NfsOperation, NfsPlan, NfsServer, NfsVersion,
    ReplayPlan, ResponsesPlan, Run, SendPath, Traffic, Transfer,
};

type Made = (Run, Estimates);

fn shown(made: &Made, columns: usize) -> String {
    let text = table(&made.0, &made.1, Layout::plain(columns));
    assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
    text
}

fn fits(text: &str, columns: usize) {
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > columns).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}

/// The run as if it had been killed before its first block.
fn without_figures(mut made: Made) -> Made {
    for cell in &mut made.1.cells {
        *cell = CellEstimate {
            cost_ns_per_kib: Sides::default(),
            ratio: Sides::default(),
            gbit_per_core: Sides::default(),
            top_speed_bytes_per_s: None,
            top_speed_by_memcpy: None,
            perturbation: Perturbation::default(),
            traffic: zc_analysis::Traffic::default(),
            others: zc_analysis::Others::default(),
            blocks: 0,
            ..cell.clone()
        };
    }
    made.0.end = None;
    made.0.blocks.clear();
    let estimates = &mut made.1;
    estimates.blocks = zc_analysis::BlockAccount::default();
    estimates.control = None;
    estimates.conditions = zc_analysis::Conditions::default();
    (estimates.sizes, estimates.accounts) = (Sides::default(), None);
    estimates.components = Sides::default();
    estimates.verdict = zc_analysis::Verdict {
        withheld: vec![Withheld::NoReference, Withheld::TooFewBlocks { kept: 0, needed: 7 }],
        ..Default::default()
    };
    made
}

/// Calls of version 3.
fn nfs_v3(operation: NfsOperation) -> NfsCall {
    NfsCall { version: NfsVersion::V3, operation }
}

#[test]
fn responses_have_the_server_s_cost_and_a_mark_where_the_rate_was_not_reached() {
    let mut made = plan(
        "requests",
        &[(Factor::Message, &["4k", "1m"]), (Factor::Send, &["read+send", "sendfile"])],
        Factor::Send,
        |cell| match (cell.levels.message_bytes, cell.transfer.send_path().unwrap()) {
            (Some(4096), _) => (10_000.0, 0.0),
            (_, SendPath::Sendfile) => (600.0, 0.0),
            _ => (700.0, 0.0),
        },
    );
    let responses =
        ResponsesPlan { connections: 4, keepalive: true, head_bytes: 100, replay: None };
    made.0.header.plan.traffic = Traffic::Responses(responses);
    made.1.cells[2].perturbation.saturated = true;
    let text = table(&made.0, &made.1, Layout { verbose: false, ..Layout::plain(120) });
    insta::assert_snapshot!("brief_requests", text);
}

/// A replay of two paths, of which the second costs `times` what its lengths tell.
fn replayed(times: f64, agrees: bool) -> Replay {
    let path = |path: &str, us: f64, times: f64, agrees: bool| ReplayedPath {
        path: path.to_owned(),
        cell: format!("log {path}"),
        replayed_us: Some(figure(us * times, 0.025)),
        predicted_us: Some(figure(us, 0.02)),
        replayed_by_predicted: Some(ratio(times, 0.03)),
        agrees: Some(agrees),
        replayed_ratio: None,
        predicted_ratio: None,
    };
    let mut sendfile = path("sendfile", 70.0, times, agrees);
    sendfile.replayed_ratio = Some(ratio(0.5 * times, 0.02));
    sendfile.predicted_ratio = Some(ratio(0.5, 0.02));
    Replay {
        responses: 2000,
        mean_bytes: 217_000.0,
        beyond_bytes_share: 0.05,
        paths: vec![path("read+send", 140.0, 1.01, true), sendfile],
    }
}

#[test]
fn a_replayed_log_stands_beside_what_its_lengths_tell() {
    let mut made = plan(
        "replay",
        &[(Factor::Message, &["4k", "1m"]), (Factor::Send, &["read+send", "sendfile"])],
        Factor::Send,
        |_| (700.0, 0.0),
    );
    let replay = ReplayPlan {
        log: "access.log".to_owned(),
        log_requests: 5000,
        log_bytes: 1_312_869_333,
        log_requests_per_s: 0.0339,
        too_long: 1,
        requests_per_s: 1000.0,
        body_bytes: vec![217_000; 2000],
        cells: vec!["log read+send".to_owned(), "log sendfile".to_owned()],
    };
    let (connections, keepalive, head_bytes) = (4, true, 100);
    made.0.header.plan.traffic = Traffic::Responses(ResponsesPlan {
        connections,
        keepalive,
        head_bytes,
        replay: Some(replay),
    });
    made.1.replay = Some(replayed(0.9, false));
    let text = table(&made.0, &made.1, Layout { verbose: false, ..Layout::plain(120) });
    insta::assert_snapshot!("brief_replay", text);
    let page = crate::html(&[(&made.0, &made.1)]);
    assert!(page.contains("A response of the log as it was replayed"), "the page has it too");

    let mut last = |replay: Replay| {
        made.1.replay = Some(replay);
        let text = table(&made.0, &made.1, Layout { verbose: false, ..Layout::plain(1000) });
        text.trim_end().rsplit('\n').next().unwrap().to_owned()
    };
    assert!(
        last(replayed(1.0, true)).ends_with(
            "by read+send and sendfile is what their lengths tell, within the intervals."
        )
    );
    let mut wrong = replayed(1.2, false);
    wrong.paths[0].agrees = Some(false);
    assert_eq!(
        last(wrong),
        "The responses of the log cost 1.0 % more by read+send and 20 % more by sendfile than \
         their lengths tell."
    );
}

#[test]
fn reads_of_nfs_have_the_table_of_2001_and_what_they_add_to_a_byte() {
    let mut made = plan(
        "nfs",
        &[(Factor::Message, &["4k", "1m"]), (Factor::Send, &["read+send", "sendfile"])],
        Factor::Send,
        |cell| match (cell.levels.message_bytes, cell.transfer.send_path().unwrap()) {
            (Some(4096), _) => (8_000.0, 14_000.0),
            (_, SendPath::Sendfile) => (300.0, 500.0),
            _ => (900.0, 700.0),
        },
    );
    // No plan names a version of NFS, so it takes the place of another path.
    let put_nfs = |transfer: &mut Transfer| {
        if transfer.send_path() == Some(SendPath::ReadSend) {
            *transfer = Transfer::Nfs(nfs_v3(NfsOperation::Read));
        }
    };
    made.0.header.plan.cells.iter_mut().for_each(|cell| put_nfs(&mut cell.transfer));
    made.1.cells.iter_mut().for_each(|cell| put_nfs(&mut cell.transfer));
    made.0.header.plan.traffic = Traffic::Nfs(NfsPlan {
        server: NfsServer::Ganesha,
        server_version: "NFS-Ganesha Release = V4.3".to_owned(),
        shares_machine: false,
        client: NfsClient::User,
        client_at: None,
        all_clocks: false,
        depth: 1,
        file_bytes: 22_050_000,
        crc32: 7,
        mounts: vec![NfsMount {
            largest: 1 << 20,
            ..NfsMount::to_be(
                nfs_v3(NfsOperation::Read),
                None,
                1,
                "nfs://10.0.0.1/zc/file".to_owned(),
            )
        }],
    });
    let text = table(&made.0, &made.1, Layout { verbose: false, ..Layout::plain(120) });
    insta::assert_snapshot!("brief_nfs", text);
    assert!(crate::html(&[(&made.0, &made.1)]).contains("beside that of 2001"), "the page has it");
    let verbose = table(&made.0, &made.1, Layout { verbose: true, ..Layout::plain(120) });
    let account = verbose.split("Whose the cost").nth(1).unwrap();
    insta::assert_snapshot!(
        "nfs_account",
        account.lines().skip(2).take(4).collect::<Vec<_>>().join("\n")
    );
    // Where verdicts are withheld nothing is concluded.
    made.1.verdict.withheld = vec![Withheld::TooFewBlocks { kept: 0, needed: 7 }];
    let text = table(&made.0, &made.1, Layout { verbose: false, ..Layout::plain(120) });
    assert!(!text.contains("A byte by nfs-v3"), "{text}");
}

#[test]
fn writes_of_nfs_have_no_table_of_2001_and_a_client_s_costs_are_its_own() {
    let mut made = plan(
        "nfs",
        &[(Factor::Message, &["4k", "64k", "1m"]), (Factor::Send, &["read+send", "sendfile"])],
        Factor::Send,
        |cell| match cell.levels.message_bytes {
            Some(4096) => (8_000.0, 14_000.0),
            _ => (900.0, 700.0),
        },
    );
    let mut last = made.1.cells.iter_mut().filter(|cell| cell.label == "1m read+send");
    last.next().unwrap().ratio.both = Some(ratio(1.0, 0.19));
    made.0.header.plan.fixed.rate_chosen = true;
    let put_nfs = |transfer: &mut Transfer| {
        *transfer = Transfer::Nfs(nfs_v3(match transfer.send_path() {
            Some(SendPath::ReadSend) => NfsOperation::Write,
            _ => NfsOperation::WriteSync,
        }));
    };
    made.0.header.plan.cells.iter_mut().for_each(|cell| put_nfs(&mut cell.transfer));
    made.1.cells.iter_mut().for_each(|cell| put_nfs(&mut cell.transfer));
    let mount = |operation| NfsMount::to_be(nfs_v3(operation), None, 1, String::new());
    made.0.header.plan.traffic = Traffic::Nfs(NfsPlan {
        server: NfsServer::Ganesha,
        server_version: "NFS-Ganesha Release = V4.3".to_owned(),
        shares_machine: false,
        client: NfsClient::User,
        client_at: None,
        all_clocks: false,
        depth: 4,
        file_bytes: 22_050_000,
        crc32: 7,
        mounts: vec![mount(NfsOperation::Write), mount(NfsOperation::WriteSync)],
    });
    let brief = Layout { verbose: false, ..Layout::plain(120) };
    insta::assert_snapshot!("brief_nfs_write", table(&made.0, &made.1, brief));
    // The same of a server that was there, on this machine.
    let nfs = made.0.header.plan.traffic.nfs_mut().unwrap();
    (nfs.server, nfs.server_version) = (NfsServer::External, "files:/srv/big".to_owned());
    nfs.shares_machine = true;
    let shared = table(&made.0, &made.1, Layout { verbose: true, ..brief });
    let account = "Whose the cost of both ends with nfs-v3-write is, us/MB: the client's program \
        by its clock";
    let on_one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(on_one_line(&shared).contains(account), "{shared}");
    // And elsewhere.
    made.0.header.plan.traffic.nfs_mut().unwrap().shares_machine = false;
    (made.1.client_alone, made.1.sides_apart) = (true, false);
    let text = table(&made.0, &made.1, Layout { verbose: true, ..brief });
    for words in ["Cost of the client, us/MB", "Ratio of the cost of the client to that of"] {
        assert!(text.contains(words), "{text}");
    }
    assert!(on_one_line(&text).contains("Whose the cost of the client with"), "{text}");
    assert!(!text.contains("both ends"), "{text}");
    assert!(!crate::html(&[(&made.0, &made.1)]).contains("ends together"));
}

#[test]
fn sizes_in_a_wide_terminal() {
    let text = shown(&sizes(), 120);
    fits(&text, 120);
    insta::assert_snapshot!("plan_sizes_120", text);
}

#[test]
fn sizes_in_a_narrow_terminal_take_more_grids_and_lose_nothing() {
    let text = shown(&sizes(), 80);
    fits(&text, 80);
    insta::assert_snapshot!("plan_sizes_80", text);
}

#[test]
fn sizes_in_markdown() {
    let (run, estimates) = sizes();
    insta::assert_snapshot!("plan_sizes_markdown", markdown(&run, &estimates));
}

#[test]
fn csv_has_one_column_per_factor() {
    let (run, estimates) = sizes();
    let text = csv(&run, &estimates);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let heads = reader.headers().unwrap().clone();
    assert_eq!(
        heads.iter().rev().take(4).collect::<Vec<_>>(),
        ["at_bytes_per_s", "compared_with", "send", "message"]
    );
    let records: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), 37);
    let last = |record: &::csv::StringRecord| {
        record.iter().rev().take(4).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(last(&records[5]), ["50000000", "1k read+send", "sendfile", "1024"]);
    assert_eq!(last(&records[0]), ["50000000", "", "read+send", "256"]);
}

#[test]
fn receiving() {
    let text = shown(&receive(), 120);
    fits(&text, 120);
    insta::assert_snapshot!("plan_receive", text);
}

#[test]
fn offloads_with_an_unavailable_cell_and_a_failed_one() {
    let text = shown(&offloads(), 120);
    fits(&text, 120);
    insta::assert_snapshot!("plan_offloads", text);
}

#[test]
fn corks() {
    let text = shown(&cork(), 120);
    fits(&text, 120);
    insta::assert_snapshot!("plan_cork", text);
}

#[test]
fn affinity_has_speeds_in_kbytes() {
    let text = shown(&affinity(), 120);
    fits(&text, 120);
    insta::assert_snapshot!("plan_affinity", text);
}

#[test]
fn socket_buffers_in_netperf_s_shape() {
    let text = shown(&sockbuf(), 120);
    fits(&text, 120);
    insta::assert_snapshot!("plan_sockbuf", text);
}

#[test]
fn packets_of_several_sizes() {
    let text = shown(&mtu(), 100);
    fits(&text, 100);
    insta::assert_snapshot!("plan_mtu", text);
}

#[test]
fn a_copied_zero_copy_is_marked_in_each_table_of_a_plan_of_several_factors() {
    let mut made = plan(
        "custom",
        &[(Factor::Message, &["4k", "1m"]), (Factor::Send, &["read+send", "msg-zerocopy"])],
        Factor::Send,
        |cell| {
            if cell.transfer.send_path() == Some(SendPath::MsgZerocopy) {
                (400.0, 100.0)
            } else {
                (500.0, 450.0)
            }
        },
    );
    for cell in made
        .1
        .cells
        .iter_mut()
        .filter(|cell| cell.transfer.send_path() == Some(SendPath::MsgZerocopy))
    {
        (cell.failed_zero_copy, cell.copied_share) = (true, Some(1.0));
    }
    let brief = table(&made.0, &made.1, Layout { verbose: false, ..Layout::plain(80) });
    let page = html(&[(&made.0, &made.1)]);
    for (text, meaning) in [
        (shown(&made, 100), "the kernel copied"),
        (brief, "copied by the kernel"),
        (markdown(&made.0, &made.1), "the kernel copied"),
        (page, "the kernel copied"),
    ] {
        let saving =
            text.match_indices("0.526").map(|(at, _)| text[at..].split(['\n', '<', '|']).next());
        let saving: Vec<&str> =
            saving.flatten().map(str::trim_end).filter(|cell| cell.len() < 20).collect();
        assert!(!saving.is_empty(), "{text}");
        assert!(saving.iter().all(|cell| cell.contains('*')), "{saving:?} in {text}");
        assert!(text.contains(meaning), "{text}");
    }
}

#[test]
fn sixty_cells_of_a_user_defined_plan() {
    let text = shown(&sixty(), 80);
    fits(&text, 80);
    insta::assert_snapshot!("plan_sixty_80", text);
}

#[test]
fn components_in_a_wide_terminal() {
    let text = shown(&components(), 120);
    fits(&text, 120);
    insta::assert_snapshot!("plan_components_120", text);
}

#[test]
fn experiments_that_add_only_a_sentence() {
    let sends = ["read+send", "sendfile"];
    for (name, factor, levels, sentence) in [
        (
            "flows",
            Factor::Flows,
            ["1", "1000"],
            "Of so many connections, per byte: sendfile costs 1.45 times as much at 1000 as at 1; \
             read+send costs 1.281 times as much at 1000 as at 1.",
        ),
        (
            "congestion",
            Factor::Congestion,
            ["cubic", "reno"],
            "for read+send and sendfile no difference was shown.",
        ),
        (
            "pacing",
            Factor::Rate,
            ["100MB/s", "400MB/s"],
            "for read+send and sendfile no difference was shown",
        ),
    ] {
        let made = plan(name, &[(factor, &levels), (Factor::Send, &sends)], factor, |cell| {
            let flows = cell.levels.flows.unwrap_or_default() as f64 / 5.0;
            (
                if cell.transfer.send_path() == Some(SendPath::Sendfile) { 130.0 } else { 400.0 }
                    + flows,
                310.0,
            )
        });
        let text = shown(&made, 2000);
        assert!(text.contains(sentence), "{text}");
        let mut withheld = made.clone();
        withheld.1.verdict.withheld = vec![Withheld::NoControl];
        let text = shown(&withheld, 2000);
        assert!(text.contains("Verdict withheld") && !text.contains(sentence), "{text}");
    }
}

#[test]
fn a_difference_at_saturation_is_said_as_the_table_has_it() {
    let levels = ["cubic", "reno", "bbr"];
    let factors: [(Factor, &[&str]); 2] =
        [(Factor::Congestion, &levels), (Factor::Send, &["read+send", "sendfile"])];
    let mut made = plan("congestion", &factors, Factor::Congestion, |cell| {
        let is_bbr = cell.levels.congestion.as_deref() == Some("bbr");
        (if is_bbr { 900.0 } else { 400.0 }, 310.0)
    });
    let bbr = |cell: &&mut CellEstimate| cell.label == "bbr read+send";
    let saturated = made.1.cells.iter_mut().find(bbr).unwrap();
    saturated.perturbation.saturated = true;
    let text = shown(&made, 2000);
    let sentence = "Of congestion controls, per byte: read+send costs 1.70 times as much at bbr as \
         at cubic; sendfile costs 1.70 times as much at bbr as at cubic; what did not reach its \
         rate (^) was compared at saturation.";
    assert!(text.contains(sentence), "{text}");
    assert!(!text.contains("no difference was shown"), "{text}");
}

#[test]
fn tls_says_what_encrypting_costs_and_what_the_kernel_saves() {
    insta::assert_snapshot!("plan_tls_100", shown(&tls(), 100));
}

#[test]
fn links_say_what_each_layer_adds() {
    insta::assert_snapshot!("plan_links_100", shown(&links(), 100));
}

#[test]
fn udp_says_what_datagrams_cost_and_what_was_lost() {
    insta::assert_snapshot!("plan_udp_100", shown(&udp(), 100));
}

#[test]
fn a_proxy_has_a_cost_of_its_own_and_splice_a_size_from_which_it_pays() {
    let made = proxy();
    insta::assert_snapshot!("plan_proxy_100", shown(&made, 100));
    // What the controls could not have seen is not said.
    let mut blunt = made.clone();
    blunt.1.verdict.resolution = Some(1.5);
    let text = shown(&blunt, 2000);
    assert!(!text.contains("splice costs less"), "{text}");
    let mut together = made;
    together.1.sides_apart = false;
    let text = shown(&together, 2000);
    assert!(text.contains("which are not told apart here"), "{text}");
}

#[test]
fn clients_have_packets_and_a_rate_below_which_sendfile_stops_paying() {
    let made = clients();
    let text = shown(&made, 100);
    fits(&text, 100);
    assert!(!text.contains("op speed") && !text.contains("chosen so that"), "{text}");
    insta::assert_snapshot!("plan_clients_100", text);
    let sentence = |made: &Made| shown(made, 2000).trim_end().lines().last().unwrap().to_owned();
    let mut alone = made.clone();
    alone.1.sender_alone = true;
    assert!(sentence(&alone).starts_with("For the sender alone, with 100"));
    // Compared with themselves in another state of the host, paths are not compared with others.
    let mut states = made;
    states
        .1
        .cells
        .iter_mut()
        .for_each(|cell| cell.by = cell.by.as_ref().map(|_| cell.label.clone()));
    assert!(!sentence(&states).contains("clients sendfile"), "{}", sentence(&states));
}

#[test]
fn withheld_verdicts_leave_no_conclusion_of_an_experiment() {
    for mut made in [
        sizes(),
        receive(),
        offloads(),
        cork(),
        affinity(),
        sockbuf(),
        mtu(),
        proxy(),
        clients(),
        sixty(),
    ] {
        made.1.verdict.withheld = vec![Withheld::NoControl];
        let text = shown(&made, 120);
        let (_, after) = text.split_once("Verdict withheld").unwrap();
        assert!(after.trim_end().lines().count() == 1, "{text}");
        assert!(!text.contains("costs less than") && !text.contains('?'), "{text}");
    }
}

#[test]
fn without_a_kept_block_there_is_the_plan_and_the_old_table() {
    insta::assert_snapshot!("plan_without_blocks", shown(&without_figures(offloads()), 100));
    for made in
        [sizes(), receive(), cork(), affinity(), sockbuf(), mtu(), sixty()].map(without_figures)
    {
        let text = shown(&made, 100);
        assert!(text.contains("No figures yet for any of"), "{text}");
        let _ = markdown(&made.0, &made.1);
    }
}

#[test]
fn estimates_of_such_a_plan_without_blocks_can_be_printed() {
    for (mut run, _) in
        [sizes(), receive(), offloads(), cork(), affinity(), sockbuf(), mtu(), sixty()]
    {
        run.end = None;
        run.blocks.clear();
        let estimates = estimate(&run);
        assert!(
            shown(&(run.clone(), estimates.clone()), 100).contains("No figures yet for any of")
        );
        let _ = (markdown(&run, &estimates), csv(&run, &estimates), json(&run, &estimates));
    }
}

#[test]
fn a_plan_of_one_factor_that_is_not_the_send_path_is_one_table() {
    let made = plan("mine", &[(Factor::Flows, &["1", "10"])], Factor::Flows, |_| (400.0, 310.0));
    let text = shown(&made, 120);
    assert!(text.contains("\nflows  "), "{text}");
    assert!(text.contains("verdict"), "{text}");
}

#[test]
fn one_level_of_each_factor_is_a_grid_of_one_cell() {
    let made = plan(
        "mine",
        &[(Factor::Flows, &["7"]), (Factor::Send, &["sendfile"])],
        Factor::Send,
        |_| (130.0, 310.0),
    );
    let text = shown(&made, 80);
    assert!(text.contains("\nflows  sendfile\n"), "{text}");
    assert!(!text.contains("Ratio of"), "{text}");
}

#[test]
fn all_cells_with_the_same_levels_are_in_the_grid() {
    let (mut run, estimates) = mtu();
    // Cells differ in alignment too, which is not a factor of the plan.
    run.header.plan.factors = vec![Factor::Mtu, Factor::Send];
    let text = shown(&(run, estimates), 120);
    let grid = text.split("\n\n").find(|part| part.starts_with("Cost of both ends")).unwrap();
    assert_eq!(grid.lines().filter(|line| line.starts_with("1500 ")).count(), 2, "{grid}");
    assert_eq!(grid.lines().count(), 3 + 10, "{grid}");
}

/// Any of the invented plans.
fn any_made() -> impl Strategy<Value = Made> {
    (0_usize..10).prop_map(|which| match which {
        0 => sizes(),
        1 => receive(),
        2 => offloads(),
        3 => cork(),
        4 => affinity(),
        5 => sockbuf(),
        6 => mtu(),
        7 => sixty(),
        8 => clients(),
        _ => crate::tests::fixture::veth(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_document_panics(
        made in any_made(),
        factors in prop::collection::vec(prop::sample::select(Factor::ALL), 0..5),
        experiment in prop::sample::select([Experiment::NAMES, &["mine"]].concat()),
        (keep_cells, keep_figures) in (0_usize..80, 0_usize..80),
        by in prop::option::of("[a-z ]{0,12}"),
        text in any::<String>(),
        columns in 0_usize..160,
    ) {
        let (mut run, mut estimates) = made;
        run.header.plan.factors = factors;
        run.header.plan.experiment = experiment.to_owned();
        for cell in run.header.plan.cells.iter_mut().skip(keep_figures) {
            cell.label.clone_from(&text);
            cell.levels.congestion = Some(text.clone());
        }
        run.header.plan.cells.truncate(keep_cells);
        estimates.cells.truncate(keep_figures);
        if let (Some(by), Some(cell)) = (by, estimates.cells.last_mut()) {
            cell.by = Some(by);
        }
        run.header.plan.fixed.soaked_cpus.truncate(keep_cells % 3);
        let text = table(&run, &estimates, Layout::plain(columns));
        prop_assert!(!text.contains("NaN"), "{text}");
        prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        let _ = (markdown(&run, &estimates), csv(&run, &estimates), json(&run, &estimates));
    }
}
