//! A force layout: nodes push each other away, edges pull their ends together.
//!
//! For graphs that are too large for layers. The push is summed over a tree of squares
//! (Barnes–Hut), so that a round is near linear. Deterministic: the start is seeded, and of
//! arithmetic only what every machine rounds alike is used (no sines, no powers).

/// Rounds at most. A very large graph has fewer: the work has a limit.
const ROUNDS: usize = 300;
/// Nodes and edges that all rounds together may look at.
const WORK: usize = 10_000_000;
/// Wanted length of an edge.
const EDGE_LENGTH: f64 = 60.0;
/// How much two nodes push each other.
const PUSH: f64 = 120.0;
/// How much everything is drawn to the middle, so that parts without a connection stay near.
const PULL_TO_MIDDLE: f64 = 0.1;
/// What remains of a node's speed from one round to the next.
const MOMENTUM: f64 = 0.6;
/// A square acts as one body on a node that is further away than its side, times this.
const FAR: f64 = 1.0;
/// Nodes of a square that is not divided further, and how often one is divided at most.
const LEAF: usize = 4;
const DEPTH: usize = 24;
const SEED: u64 = 0x7477_696e_696e_6721;

/// A node while it moves.
#[derive(Clone, Copy, Default)]
struct MovingNode {
    x: f64,
    y: f64,
    speed_x: f64,
    speed_y: f64,
}

/// An edge and how its pull is shared.
struct SpringEdge {
    from: usize,
    to: usize,
    strength: f64,
    /// The part that moves the head; the tail gets the rest.
    head_share: f64,
}

/// Where each of so many nodes goes. Edges name nodes by their position; loops and edges that
/// name no node pull nothing.
#[must_use]
pub fn force_layout(nodes: usize, edges: &[(usize, usize)]) -> Vec<(f64, f64)> {
    let springs = springs(nodes, edges);
    let rounds = (WORK / (nodes + springs.len()).max(1)).clamp(1, ROUNDS);
    let mut moving = seeded(nodes);
    let mut tree = QuadTree::default();
    for round in 0..rounds {
        let left = 1.0 - count(round) / count(rounds);
        let heat = left * left;
        pull(&mut moving, &springs, heat);
        tree.build(&moving);
        for (index, push) in tree.pushes(&moving) {
            moving[index].speed_x += push.0 * heat;
            moving[index].speed_y += push.1 * heat;
        }
        for node in &mut moving {
            node.speed_x = (node.speed_x - node.x * PULL_TO_MIDDLE * heat) * MOMENTUM;
            node.speed_y = (node.speed_y - node.y * PULL_TO_MIDDLE * heat) * MOMENTUM;
            node.x += node.speed_x;
            node.y += node.speed_y;
        }
    }
    moving.iter().map(|node| (node.x, node.y)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts of nodes and rounds are small")]
fn count(number: usize) -> f64 {
    number as f64
}

/// The start: scattered over a square that has space for all.
fn seeded(nodes: usize) -> Vec<MovingNode> {
    let mut state = SEED;
    let side = EDGE_LENGTH * count(nodes).sqrt();
    let mut next = || (fraction(&mut state) - 0.5) * side;
    (0..nodes).map(|_| MovingNode { x: next(), y: next(), ..MovingNode::default() }).collect()
}

/// The next number of a seeded sequence (SplitMix64), from 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
fn fraction(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut bits = *state;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// A node with many edges moves less by each, so that the sum of them never throws it.
fn springs(nodes: usize, edges: &[(usize, usize)]) -> Vec<SpringEdge> {
    let pulls = |&&(from, to): &&(usize, usize)| from != to && from < nodes && to < nodes;
    let mut degree = vec![0; nodes];
    for &(from, to) in edges.iter().filter(pulls) {
        degree[from] += 1;
        degree[to] += 1;
    }
    let spring = |&(from, to): &(usize, usize)| {
        let (tail, head) = (count(degree[from]), count(degree[to]));
        let head_share = tail / (tail + head);
        SpringEdge { from, to, strength: 1.0 / tail.min(head), head_share }
    };
    edges.iter().filter(pulls).map(spring).collect()
}

fn pull(moving: &mut [MovingNode], springs: &[SpringEdge], heat: f64) {
    for spring in springs {
        let (from, to) = (moving[spring.from], moving[spring.to]);
        let (x, y) =
            (to.x + to.speed_x - from.x - from.speed_x, to.y + to.speed_y - from.y - from.speed_y);
        let length = (x * x + y * y).sqrt();
        if length == 0.0 {
            continue;
        }
        let pull = (length - EDGE_LENGTH) / length * heat * spring.strength;
        let head = spring.head_share;
        moving[spring.to].speed_x -= x * pull * head;
        moving[spring.to].speed_y -= y * pull * head;
        moving[spring.from].speed_x += x * pull * (1.0 - head);
        moving[spring.from].speed_y += y * pull * (1.0 - head);
    }
}

/// A square of the plane, and the nodes in it as one body.
struct QuadCell {
    /// The middle of its nodes.
    x: f64,
    y: f64,
    /// How many they are.
    mass: f64,
    /// The distance, squared, from which it acts as one body.
    far: f64,
    /// The first cell that is not inside this one.
    next: usize,
    /// Where its nodes are in [`QuadTree::order`], if it is not divided.
    leaf: Option<(usize, usize)>,
}

/// The squares, outer before inner, each followed by those inside it.
#[derive(Default)]
struct QuadTree {
    cells: Vec<QuadCell>,
    /// The nodes, those of a square side by side.
    order: Vec<usize>,
}

/// A square: its lower corner and its side.
#[derive(Clone, Copy)]
struct QuadSquare {
    x: f64,
    y: f64,
    side: f64,
}

impl QuadTree {
    fn build(&mut self, moving: &[MovingNode]) {
        self.cells.clear();
        self.order.clear();
        self.order.extend(0..moving.len());
        let least =
            |of: fn(&MovingNode) -> f64| moving.iter().map(of).fold(f64::INFINITY, f64::min);
        let most =
            |of: fn(&MovingNode) -> f64| moving.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
        let (x, y) = (least(|node| node.x), least(|node| node.y));
        let side = (most(|node| node.x) - x).max(most(|node| node.y) - y);
        self.divide(moving, (0, moving.len()), QuadSquare { x, y, side }, 0);
    }

    fn divide(
        &mut self,
        moving: &[MovingNode],
        (start, end): (usize, usize),
        square: QuadSquare,
        depth: usize,
    ) {
        let held = &mut self.order[start..end];
        if held.is_empty() {
            return;
        }
        let (x, y) = held
            .iter()
            .fold((0.0, 0.0), |(x, y), &index| (x + moving[index].x, y + moving[index].y));
        let mass = count(held.len());
        let is_leaf = held.len() <= LEAF || depth == DEPTH;
        let cell = self.cells.len();
        let half = square.side / 2.0;
        let (middle_x, middle_y) = (square.x + half, square.y + half);
        let cuts = (!is_leaf).then(|| {
            let upper = partition(held, |index| moving[index].y < middle_y);
            let left = partition(&mut held[..upper], |index| moving[index].x < middle_x);
            let right = partition(&mut held[upper..], |index| moving[index].x < middle_x);
            [start, start + left, start + upper, start + upper + right, end]
        });
        let far = square.side * FAR;
        self.cells.push(QuadCell {
            x: x / mass,
            y: y / mass,
            mass,
            far: far * far,
            next: 0,
            leaf: is_leaf.then_some((start, end)),
        });
        let corners = [
            (square.x, square.y),
            (middle_x, square.y),
            (square.x, middle_y),
            (middle_x, middle_y),
        ];
        for (cuts, (x, y)) in cuts.iter().flat_map(|cuts| cuts.windows(2)).zip(corners) {
            let inner = QuadSquare { x, y, side: half };
            self.divide(moving, (cuts[0], cuts[1]), inner, depth + 1);
        }
        self.cells[cell].next = self.cells.len();
    }

    /// How much every node is pushed by all others.
    fn pushes(&self, moving: &[MovingNode]) -> Vec<(usize, (f64, f64))> {
        self.order.iter().map(|&index| (index, self.push(index, moving))).collect()
    }

    fn push(&self, index: usize, moving: &[MovingNode]) -> (f64, f64) {
        let node = moving[index];
        let (mut push_x, mut push_y) = (0.0, 0.0);
        let mut add = |x: f64, y: f64, mass: f64| {
            let (x, y) = (node.x - x, node.y - y);
            // Not below one: two nodes in one place would throw each other out of the picture.
            let push = PUSH * mass / (x * x + y * y).max(1.0);
            push_x += x * push;
            push_y += y * push;
        };
        let mut at = 0;
        while let Some(cell) = self.cells.get(at) {
            let (x, y) = (node.x - cell.x, node.y - cell.y);
            if x * x + y * y > cell.far {
                add(cell.x, cell.y, cell.mass);
                at = cell.next;
                continue;
            }
            match cell.leaf {
                // Deeper than squares go, nodes are as good as in one place.
                Some((start, end)) if end - start > LEAF => add(cell.x, cell.y, cell.mass),
                Some((start, end)) => {
                    let others = self.order[start..end].iter().filter(|&&other| other != index);
                    others.for_each(|&other| add(moving[other].x, moving[other].y, 1.0));
                }
                None => {
                    at += 1;
                    continue;
                }
            }
            at = cell.next;
        }
        (push_x, push_y)
    }
}

/// Moves those that are wanted to the front; says how many they are.
fn partition(held: &mut [usize], wanted: impl Fn(usize) -> bool) -> usize {
    let mut front = 0;
    for place in 0..held.len() {
        if wanted(held[place]) {
            held.swap(front, place);
            front += 1;
        }
    }
    front
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use twining_testcases::each;

    type Edges = Vec<(usize, usize)>;

    fn is_drawable(points: &[(f64, f64)]) -> bool {
        points.iter().all(|(x, y)| x.is_finite() && y.is_finite() && x.abs() < 1e6 && y.abs() < 1e6)
    }

    fn distance(points: &[(f64, f64)], one: usize, other: usize) -> f64 {
        let (x, y) = (points[one].0 - points[other].0, points[one].1 - points[other].1);
        (x * x + y * y).sqrt()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

        #[test]
        fn any_graph_is_drawn_and_drawn_the_same_again(
            nodes in 0..80_usize,
            // Loops, edges twice, and edges to nodes that do not exist.
            edges in prop::collection::vec((0..90_usize, 0..90_usize), 0..200),
        ) {
            let points = force_layout(nodes, &edges);
            prop_assert_eq!(points.len(), nodes);
            prop_assert!(is_drawable(&points), "{:?}", points);
            prop_assert_eq!(points, force_layout(nodes, &edges));
        }
    }

    #[test]
    fn graphs_at_the_edge_of_what_is_one_are_drawn() {
        let star: Vec<(usize, usize)> = (1..400).map(|leaf| (0, leaf)).collect();
        let doubled: Vec<(usize, usize)> = [(0, 1); 500].to_vec();
        let cases: [(&str, usize, Edges); 7] = [
            ("no node", 0, vec![(0, 0), (3, 4)]),
            ("one node", 1, vec![]),
            ("one node with a loop", 1, vec![(0, 0); 9]),
            ("no edge", 300, vec![]),
            ("one edge five hundred times", 2, doubled),
            ("a star", 400, star),
            ("two parts", 4, vec![(0, 1), (2, 3)]),
        ];
        each(cases, |(name, nodes, edges)| {
            let points = force_layout(nodes, &edges);
            assert!(points.len() == nodes && is_drawable(&points), "{name}: {points:?}");
        });
    }

    #[test]
    fn two_clusters_come_apart_and_their_nodes_together() {
        let cluster = |start: usize| {
            (start..start + 12)
                .flat_map(move |from| (from + 1..start + 12).map(move |to| (from, to)))
        };
        let edges: Vec<(usize, usize)> = cluster(0).chain(cluster(12)).chain([(0, 12)]).collect();
        let points = force_layout(24, &edges);
        let mean = |pairs: Vec<(usize, usize)>| {
            let sum: f64 = pairs.iter().map(|&(a, b)| distance(&points, a, b)).sum();
            sum / count(pairs.len())
        };
        let within = mean(cluster(0).collect());
        let between = mean((0..12).flat_map(|a| (12..24).map(move |b| (a, b))).collect());
        assert!(between > 1.5 * within, "{between} between, {within} within");
    }

    #[test]
    fn no_two_nodes_lie_in_one_place() {
        let grid: Vec<(usize, usize)> = (0..399).map(|node| (node, node + 1)).collect();
        let points = force_layout(400, &grid);
        for one in 0..points.len() {
            for other in one + 1..points.len() {
                assert!(distance(&points, one, other) > 1.0, "{one} and {other}");
            }
        }
    }

    #[test]
    fn the_tree_pushes_about_as_much_as_all_nodes_one_by_one() {
        let moving = seeded(500);
        let mut tree = QuadTree::default();
        tree.build(&moving);
        for (index, (x, y)) in tree.pushes(&moving) {
            let (mut wanted_x, mut wanted_y) = (0.0, 0.0);
            for other in (0..moving.len()).filter(|&other| other != index) {
                let (dx, dy) =
                    (moving[index].x - moving[other].x, moving[index].y - moving[other].y);
                let push = PUSH / (dx * dx + dy * dy).max(1.0);
                (wanted_x, wanted_y) = (wanted_x + dx * push, wanted_y + dy * push);
            }
            let off = ((x - wanted_x).powi(2) + (y - wanted_y).powi(2)).sqrt();
            assert!(off < 0.2 * PUSH, "node {index} is off by {off}");
        }
    }
}
