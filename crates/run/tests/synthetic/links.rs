//! Which of the links of a run a cell was measured on.

use zc_run::{
    Cell, Factor, Layer, LayerFacts, Level, Levels, LinkFacts, OffloadSwitch, RecvPath, SendPath,
};
use zc_testkit::synthetic::Synthetic;

#[test]
fn a_cells_link_is_found_by_its_mtu_and_offloads() {
    let mut header = Synthetic::default().run().header;
    let lesser = LinkFacts { switched_off: [OffloadSwitch::NoTso].into(), ..header.link.clone() };
    let wide = LinkFacts { mtu_bytes: 9000, ..header.link.clone() };
    header.other_links = vec![lesser.clone(), wide.clone()];
    let mtu = |mtu_bytes| Levels { mtu_bytes: Some(mtu_bytes), ..Levels::default() };
    assert_eq!(header.link_of(&Levels::default()), Some(&header.link));
    assert_eq!(header.link_of(&mtu(1500)), Some(&header.link), "what the others have too");
    assert_eq!(header.link_of(&mtu(9000)), Some(&wide));
    assert_eq!(header.link_of(&mtu(3856)), None);
    let off = |switched_off: &[OffloadSwitch]| Levels {
        switched_off: Some(switched_off.iter().copied().collect()),
        ..Levels::default()
    };
    assert_eq!(header.link_of(&off(&[OffloadSwitch::NoTso])), Some(&lesser));
    assert_eq!(header.link_of(&off(&[])), Some(&header.link));
    assert_eq!(
        header.link_of(&Levels { mtu_bytes: Some(9000), ..off(&[OffloadSwitch::NoTso]) }),
        None
    );
}

#[test]
fn a_cell_s_link_is_found_by_its_layer_whatever_the_mtu_of_the_layer_s_device() {
    let mut header = Synthetic::default().run().header;
    let facts = LayerFacts {
        name: Layer::Vxlan,
        device: Some("zcl0".to_owned()),
        mtu_bytes: Some(header.link.mtu_bytes - 50),
    };
    let vxlan = LinkFacts { layer: Some(facts), ..header.link.clone() };
    header.other_links = vec![vxlan.clone()];
    let over = |layer: &str| {
        let mut cell = Cell::of_paths(SendPath::ReadSend, RecvPath::Recv);
        Level::parse(Factor::Layer, layer).unwrap().put(&mut cell);
        cell.levels
    };
    assert_eq!(header.link_of(&over("plain")), Some(&header.link));
    assert_eq!(header.link_of(&over("vxlan")), Some(&vxlan));
    assert_eq!(header.link_of(&over("esp")), None);
    // Of a run whose link has a layer, that is the one of cells that name none.
    header.link = vxlan.clone();
    assert_eq!(header.link_of(&Levels::default()), Some(&vxlan));
}
