//! Graphs against counted numbers and their own rules.

use super::*;
use fitzroy_device::nn::Stage;

fn axis(from: f64, to: f64, step: f64) -> Vec<f64> {
    let n = ((to - from) / step).round() as usize;
    (0..=n).map(|k| from + step * k as f64).collect()
}

/// The counts of the default boxes on a quarter-degree grid.
#[test]
fn the_flat_graph_has_the_published_counts() {
    let (lat, lon) = (axis(25.0, 50.0, 0.25), axis(70.0, 125.0, 0.25));
    assert_eq!(lat.len() * lon.len(), 22_321);
    let graph = flat(&Points::regular(&lat, &lon), &Boxes::default()).unwrap();
    assert_eq!(
        (graph.upstream.len(), graph.downstream.len()),
        (16_261, 3_721)
    );
    assert_eq!(graph.n_boundary, 305);
    assert_eq!(
        (graph.intra.senders.len(), graph.inter.senders.len()),
        (29_768, 9_760)
    );
    let stages: Vec<Stage> = Stage::layers(12, &[0, 1], &[0, 1]).collect();
    let edges = [graph.intra, graph.inter];
    let pruned = prune(&[3_721, 16_261], &edges, &stages, 0);
    assert_eq!((pruned.nodes[0].len(), pruned.nodes[1].len()), (3_721, 325));
    assert_eq!(pruned.edges[1].senders.len(), 9_760);
    assert!(pruned.edges[1].senders.iter().all(|&s| s < 325));
}

#[test]
fn features_point_from_the_receiver_to_the_sender() {
    let (lat, lon) = (axis(25.0, 50.0, 1.0), axis(70.0, 125.0, 1.0));
    let graph = flat(&Points::regular(&lat, &lon), &Boxes::default()).unwrap();
    let all = places(&lat, &lon);
    for (edge, set, from) in [
        (5, &graph.intra, &graph.downstream),
        (40, &graph.inter, &graph.upstream),
    ] {
        let (s, r) = (set.senders[edge] as usize, set.receivers[edge] as usize);
        let (a, b) = (all[from[s] as usize], all[graph.downstream[r] as usize]);
        let expected = [a.0 - b.0, a.1 - b.1, libm::hypot(a.0 - b.0, a.1 - b.1)];
        assert_eq!(set.features[edge * 3..edge * 3 + 3], expected);
    }
}

#[test]
fn every_grid_node_sends_to_the_mesh_and_receives_from_it() {
    for (n_lat, n_lon) in [(29, 33), (40, 40), (7, 50), (4, 4)] {
        let (lat, lon) = (
            axis(30.0, 30.0 + n_lat as f64 - 1.0, 1.0),
            axis(0.0, n_lon as f64 - 1.0, 1.0),
        );
        let graph = mesh(&Points::regular(&lat, &lon));
        let n = n_lat * n_lon;
        let (mut sends, mut receives) = (vec![false; n], vec![0; n]);
        graph
            .up
            .senders
            .iter()
            .for_each(|&s| sends[s as usize] = true);
        graph
            .down
            .receivers
            .iter()
            .for_each(|&r| receives[r as usize] += 1);
        assert!(sends.iter().all(|&s| s), "{n_lat} x {n_lon}");
        assert!(receives.iter().all(|&k| k == 4.min(graph.nodes.len())));
        let hears = |m: u32| graph.up.receivers.contains(&m);
        assert!(
            (0..graph.nodes.len() as u32).all(hears),
            "{n_lat} x {n_lon}"
        );
        let longest = graph
            .within
            .features
            .iter()
            .fold(0.0_f64, |m, x| m.max(x.abs()));
        assert!((longest - 1.0).abs() < 1e-12);
    }
}

#[test]
fn points_of_a_grid_hear_their_neighbours_and_no_one_else() {
    let set = grid_set(&Points::regular(
        &axis(50.0, 53.0, 1.0),
        &axis(0.0, 4.0, 1.0),
    ));
    let heard = |node: u32| set.receivers.iter().filter(|&&r| r == node).count();
    // A corner, an edge, the inside of 4 x 5 points.
    assert_eq!((heard(0), heard(1), heard(6)), (3, 5, 8));
    for (&r, &s) in set.receivers.iter().zip(&set.senders) {
        let ((y, x), (v, u)) = ((r / 5, r % 5), (s / 5, s % 5));
        assert!(y.abs_diff(v).max(x.abs_diff(u)) == 1, "{r} hears {s}");
    }
}

#[test]
fn boxes_off_the_grid_say_where_the_grid_is() {
    let (lat, lon) = (axis(25.0, 50.0, 1.0), axis(70.0, 125.0, 1.0));
    let wrong = |boxes: Boxes| {
        flat(&Points::regular(&lat, &lon), &boxes)
            .unwrap_err()
            .to_string()
    };
    let boxes = Boxes {
        downstream: [25.0, 40.0, 110.0, 140.0],
        ..Boxes::default()
    };
    assert!(wrong(boxes).contains("lon 70 to 125"));
    let boxes = Boxes {
        boundary_lon: 100.0,
        ..Boxes::default()
    };
    assert!(wrong(boxes).contains("⟨boundary_lon 100⟩"));
}

/// Where a grid is turned, its points stand for the areas that they did before; on latitudes and
/// longitudes these go with the cosine of the latitude. Catches: sides that are mixed up.
#[test]
fn areas_of_a_grid_do_not_depend_on_its_rows() {
    let (lat, lon) = (axis(30.0, 36.0, 0.5), axis(0.0, 4.0, 0.5));
    let regular = Points::regular(&lat, &lon);
    let areas = regular.areas();
    for (place, area) in regular.places.iter().zip(&areas) {
        let expected = (0.5 * DEGREE_KM).powi(2) * place.0.to_radians().cos();
        assert!((area / expected - 1.0).abs() < 1e-9, "{area} {expected}");
    }
    // Rows run along 30 degrees to the north of east at the equator, 0.2 degrees apart.
    let (sin, cos) = 30.0_f64.to_radians().sin_cos();
    let place = |k: usize| {
        let (y, x) = (0.2 * (k / 7) as f64, 0.2 * (k % 7) as f64);
        (y * cos + x * sin, x * cos - y * sin)
    };
    let turned = Points {
        places: (0..35).map(place).collect(),
        shape: (5, 7),
    };
    for area in turned.areas() {
        let expected = (0.2 * DEGREE_KM).powi(2);
        assert!((area / expected - 1.0).abs() < 1e-3, "{area} {expected}");
    }
}
