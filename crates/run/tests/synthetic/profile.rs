//! Samples of several blocks, read as one profile.

use zc_run::{
    BlockSamples, Profile, Run, SampledEvent, SampledTask, Sampling, TaskSamples, WindowSamples,
};
use zc_testkit::synthetic::Synthetic;

fn run() -> Run {
    let mut run = Synthetic { blocks: 2, ..Synthetic::default() }.run();
    run.header.sampling = Some(Sampling {
        event: SampledEvent::CpuClock,
        no_cycles: None,
        frequency_hz: 2618,
        cpus: vec![0, 1],
        kernel_functions: 3,
    });
    let window = |frame| WindowSamples {
        tasks: vec![TaskSamples {
            cpu: 0,
            task: SampledTask::Sender,
            counts: vec![(frame, 1), (0, 2)],
        }],
        ..WindowSamples::default()
    };
    run.blocks[0].samples = Some(BlockSamples {
        symbols: vec!["do_syscall_64".to_owned(), "tcp_sendmsg".to_owned()],
        frames: vec![(0, 0), (1, 1)],
        windows: vec![window(2)],
    });
    run.blocks[1].samples = Some(BlockSamples {
        symbols: vec!["_copy_from_iter".to_owned()],
        frames: vec![(2, 2)],
        windows: vec![window(3)],
    });
    run
}

#[test]
fn numbers_go_on_from_block_to_block() {
    let profile = Profile::from_run(&run()).unwrap();
    let stack: Vec<&str> = profile.callers(3).map(|frame| profile.symbol(frame)).collect();
    assert_eq!(stack, ["_copy_from_iter", "tcp_sendmsg", "do_syscall_64"]);
    assert_eq!(profile.callers(0).count(), 0);
    assert_eq!((profile.symbol(0), profile.symbol(99)), ("", ""));
}

#[test]
fn tables_that_do_not_fit_together_are_no_profile() {
    let edit = |change: fn(&mut BlockSamples)| {
        let mut run = run();
        change(run.blocks[1].samples.as_mut().unwrap());
        Profile::from_run(&run)
    };
    assert!(edit(|_| ()).is_some());
    assert_eq!(edit(|block| block.frames[0].0 = 3), None, "its own caller");
    assert_eq!(edit(|block| block.frames[0].1 = 3), None, "no such symbol");
    let too_deep =
        |block: &mut BlockSamples| block.frames = (2..2000).map(|caller| (caller, 2)).collect();
    assert_eq!(edit(too_deep), None, "deeper than any stack");
    let too_long = |block: &mut BlockSamples| block.symbols[0] = "f".repeat(20_000);
    assert_eq!(edit(too_long), None, "a name longer than any stack");
    assert_eq!(edit(|block| block.windows[0].tasks[0].counts[0].0 = 4), None, "no such frame");
    assert_eq!(Profile::from_run(&Synthetic::default().run()), None);
}
