//! A layered layout: cycles broken, longest-path ranks, barycentre order, polylines.
//!
//! Deterministic, and near linear: a few sweeps over nodes and edges. Good for a few
//! hundred nodes; `force_layout.rs` is for more.

use std::collections::HashMap;

use crate::graph::Graph;

use super::labels;
use super::options::{DrawOptions, LayoutDirection};

/// How often the order of the ranks is improved.
const SWEEPS: usize = 8;
/// Bends for long edges at most; above that they run straight.
const BENDS: usize = 20_000;
const GAP_ACROSS: f64 = 24.0;
const GAP_ALONG: f64 = 56.0;
const LETTER: f64 = 7.2;
/// The height of a line of text.
pub(super) const LINE: f64 = 16.0;

/// A drawing's geometry.
#[derive(Clone, Debug)]
pub struct GraphLayout {
    /// The nodes, in the graph's order.
    pub nodes: Vec<NodeBox>,
    /// The points each edge runs through, in the graph's order.
    pub edges: Vec<Vec<(f64, f64)>>,
    /// The whole width.
    pub width: f64,
    /// The whole height.
    pub height: f64,
}

/// A node's box.
#[derive(Clone, Debug)]
pub struct NodeBox {
    /// The middle, from the left.
    pub x: f64,
    /// The middle, from the top.
    pub y: f64,
    /// The width.
    pub width: f64,
    /// The height.
    pub height: f64,
    /// What is written in it.
    pub lines: Vec<String>,
}

/// A node, or the place where a long edge passes a rank.
struct LayoutCell {
    across: f64,
    along: f64,
    rank: usize,
    at: f64,
}

impl NodeBox {
    /// A box that has space for these lines.
    #[must_use]
    pub fn of_lines(lines: Vec<String>) -> Self {
        let longest = lines.iter().map(|line| line.chars().count()).max().unwrap_or_default();
        let (width, height) =
            (24.0 + LETTER * count(longest), 16.0 + LINE * count(lines.len().max(1)));
        Self { x: 0.0, y: 0.0, width, height, lines }
    }
}

/// Lays a graph out.
#[must_use]
pub fn layout(graph: &Graph, options: &DrawOptions) -> GraphLayout {
    let boxes = graph.nodes.iter().map(|node| NodeBox::of_lines(labels::node_lines(node, options)));
    let ends: Vec<(usize, usize)> = graph
        .edges
        .iter()
        .filter_map(|edge| Some((graph.position_of(&edge.from)?, graph.position_of(&edge.to)?)))
        .collect();
    layered_layout(boxes.collect(), ends, options.direction)
}

/// Lays boxes out. Edges name boxes by their position; those that name none are left out.
#[must_use]
pub fn layered_layout(
    boxes: Vec<NodeBox>,
    mut edges: Vec<(usize, usize)>,
    direction: LayoutDirection,
) -> GraphLayout {
    edges.retain(|&(from, to)| from < boxes.len() && to < boxes.len());
    let ranks = ranked(boxes.len(), &edges);
    let down = direction == LayoutDirection::Down;
    let mut cells: Vec<LayoutCell> = boxes
        .iter()
        .zip(ranks)
        .map(|(shape, rank)| {
            let (across, along) =
                if down { (shape.width, shape.height) } else { (shape.height, shape.width) };
            LayoutCell { across, along, rank, at: 0.0 }
        })
        .collect();
    let routes = routed(&mut cells, &edges);
    let mut rows = ordered(&cells, &routes);
    place(&mut cells, &mut rows, &routes);
    drawn(boxes, &cells, &rows, &edges, &routes, down)
}

#[expect(clippy::cast_precision_loss, reason = "counts of letters and lines are small")]
fn count(number: usize) -> f64 {
    number as f64
}

/// Longest-path ranks over the graph without the edges that close a cycle.
/// Nodes without edges fill rows of their own below.
fn ranked(nodes: usize, ends: &[(usize, usize)]) -> Vec<usize> {
    let mut outgoing = vec![Vec::new(); nodes];
    let mut joined = vec![false; nodes];
    for &(from, to) in ends.iter().filter(|(from, to)| from != to) {
        outgoing[from].push(to);
        (joined[from], joined[to]) = (true, true);
    }
    // Depth first, without recursion: leaving order reversed is an order of the
    // nodes in which every edge that closes no cycle runs forward.
    let mut state = vec![0_u8; nodes];
    let mut left = Vec::with_capacity(nodes);
    let mut incoming = vec![0_usize; nodes];
    for &(_, to) in ends.iter().filter(|(from, to)| from != to) {
        incoming[to] += 1;
    }
    let mut roots: Vec<usize> = (0..nodes).collect();
    roots.sort_by_key(|&node| incoming[node] > 0);
    for root in roots {
        let mut stack = vec![(root, 0)];
        while let Some((node, next)) = stack.pop() {
            if next == 0 {
                if state[node] != 0 {
                    continue;
                }
                state[node] = 1;
            }
            match outgoing[node].get(next) {
                Some(&to) => {
                    stack.push((node, next + 1));
                    if state[to] == 0 {
                        stack.push((to, 0));
                    }
                }
                None => {
                    state[node] = 2;
                    left.push(node);
                }
            }
        }
    }
    let mut turn = vec![0; nodes];
    left.iter().rev().enumerate().for_each(|(order, &node)| turn[node] = order);
    let mut rank = vec![0; nodes];
    for &node in left.iter().rev() {
        for &to in &outgoing[node] {
            if turn[to] > turn[node] {
                rank[to] = rank[to].max(rank[node] + 1);
            }
        }
    }
    let below = (0..nodes)
        .filter(|&node| joined[node])
        .map(|node| rank[node] + 1)
        .max()
        .unwrap_or_default();
    let alone: Vec<usize> = (0..nodes).filter(|&node| !joined[node]).collect();
    let in_a_row = alone.len().isqrt().max(4);
    for (order, &node) in alone.iter().enumerate() {
        rank[node] = below + order / in_a_row;
    }
    rank
}

/// The cells each edge passes, from the upper end to the lower; adds the bends.
fn routed(cells: &mut Vec<LayoutCell>, ends: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let length =
        |cells: &[LayoutCell], from: usize, to: usize| cells[from].rank.abs_diff(cells[to].rank);
    let bends: usize =
        ends.iter().map(|&(from, to)| length(cells, from, to).saturating_sub(1)).sum();
    let mut routes = Vec::with_capacity(ends.len());
    for &(from, to) in ends {
        let (upper, lower) =
            if cells[from].rank <= cells[to].rank { (from, to) } else { (to, from) };
        let mut route = vec![upper];
        if bends <= BENDS {
            for rank in cells[upper].rank + 1..cells[lower].rank {
                route.push(cells.len());
                cells.push(LayoutCell { across: 8.0, along: 0.0, rank, at: 0.0 });
            }
        }
        route.push(lower);
        routes.push(route);
    }
    routes
}

/// The cells of each rank, ordered so that few edges cross.
fn ordered(cells: &[LayoutCell], routes: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let ranks = cells.iter().map(|cell| cell.rank + 1).max().unwrap_or_default();
    let mut rows = vec![Vec::new(); ranks];
    cells.iter().enumerate().for_each(|(cell, shape)| rows[shape.rank].push(cell));
    let (above, below) = neighbours(cells.len(), routes);
    let mut place = vec![0.0; cells.len()];
    let number = |row: &[usize], place: &mut Vec<f64>| {
        row.iter().enumerate().for_each(|(order, &cell)| place[cell] = count(order));
    };
    rows.iter().for_each(|row| number(row, &mut place));
    for sweep in 0..SWEEPS {
        let down = sweep % 2 == 0;
        let near = if down { &above } else { &below };
        for step in 0..ranks {
            let row = &mut rows[if down { step } else { ranks - 1 - step }];
            let middle: HashMap<usize, f64> = row
                .iter()
                .map(|&cell| (cell, mean(&near[cell], &place).unwrap_or(place[cell])))
                .collect();
            row.sort_by(|left, right| middle[left].total_cmp(&middle[right]).then(left.cmp(right)));
            number(row, &mut place);
        }
    }
    rows
}

fn neighbours(cells: usize, routes: &[Vec<usize>]) -> (Vec<Vec<usize>>, Vec<Vec<usize>>) {
    let (mut above, mut below) = (vec![Vec::new(); cells], vec![Vec::new(); cells]);
    for pair in routes.iter().flat_map(|route| route.windows(2)).filter(|pair| pair[0] != pair[1]) {
        below[pair[0]].push(pair[1]);
        above[pair[1]].push(pair[0]);
    }
    (above, below)
}

fn mean(cells: &[usize], place: &[f64]) -> Option<f64> {
    (!cells.is_empty())
        .then(|| cells.iter().map(|&cell| place[cell]).sum::<f64>() / count(cells.len()))
}

/// Moves every cell towards its neighbours, as far as its row allows.
fn place(cells: &mut [LayoutCell], rows: &mut [Vec<usize>], routes: &[Vec<usize>]) {
    let (above, below) = neighbours(cells.len(), routes);
    for row in rows.iter() {
        let width: f64 = row.iter().map(|&cell| cells[cell].across + GAP_ACROSS).sum();
        let mut at = -width / 2.0;
        for &cell in row {
            cells[cell].at = at + cells[cell].across / 2.0;
            at += cells[cell].across + GAP_ACROSS;
        }
    }
    let mut at: Vec<f64> = cells.iter().map(|cell| cell.at).collect();
    for sweep in 0..SWEEPS {
        let near = if sweep % 2 == 0 { &above } else { &below };
        let order: Vec<usize> = if sweep % 2 == 0 {
            (0..rows.len()).collect()
        } else {
            (0..rows.len()).rev().collect()
        };
        for row in order {
            let row = &rows[row];
            let wanted: Vec<f64> =
                row.iter().map(|&cell| mean(&near[cell], &at).unwrap_or(cells[cell].at)).collect();
            settle(cells, row, &wanted);
            row.iter().for_each(|&cell| at[cell] = cells[cell].at);
        }
    }
}

/// Gives a row its wishes, kept in order and apart: pushed from the left, pushed from
/// the right, and the middle of both.
fn settle(cells: &mut [LayoutCell], row: &[usize], wanted: &[f64]) {
    let distance =
        |left: usize, right: usize| (cells[left].across + cells[right].across) / 2.0 + GAP_ACROSS;
    let (mut from_left, mut from_right) = (wanted.to_vec(), wanted.to_vec());
    for order in 1..row.len() {
        from_left[order] =
            from_left[order].max(from_left[order - 1] + distance(row[order - 1], row[order]));
        let back = row.len() - 1 - order;
        from_right[back] =
            from_right[back].min(from_right[back + 1] - distance(row[back], row[back + 1]));
    }
    for (order, &cell) in row.iter().enumerate() {
        cells[cell].at = f64::midpoint(from_left[order], from_right[order]);
    }
}

fn drawn(
    boxes: Vec<NodeBox>,
    cells: &[LayoutCell],
    rows: &[Vec<usize>],
    ends: &[(usize, usize)],
    routes: &[Vec<usize>],
    down: bool,
) -> GraphLayout {
    let margin = 24.0;
    let left = cells.iter().map(|cell| cell.at - cell.across / 2.0).fold(f64::INFINITY, f64::min);
    let right =
        cells.iter().map(|cell| cell.at + cell.across / 2.0).fold(f64::NEG_INFINITY, f64::max);
    let across = if left.is_finite() { right - left + 2.0 * margin } else { 2.0 * margin };
    let mut middles = Vec::with_capacity(rows.len());
    let mut along = margin;
    for row in rows {
        let thick = row.iter().map(|&cell| cells[cell].along).fold(0.0, f64::max);
        middles.push(along + thick / 2.0);
        along += thick + GAP_ALONG;
    }
    let along = if rows.is_empty() { 2.0 * margin } else { along - GAP_ALONG + margin };
    let point = |cell: usize| {
        let (cross, far) = (cells[cell].at - left + margin, middles[cells[cell].rank]);
        if down { (cross, far) } else { (far, cross) }
    };
    let nodes: Vec<NodeBox> = boxes
        .into_iter()
        .enumerate()
        .map(|(node, shape)| {
            let (x, y) = point(node);
            NodeBox { x, y, ..shape }
        })
        .collect();
    let edges = ends
        .iter()
        .zip(routes)
        .map(|(&(from, to), route)| {
            let mut points: Vec<(f64, f64)> = route.iter().map(|&cell| point(cell)).collect();
            if from != route[0] {
                points.reverse();
            }
            trimmed(&nodes[from], &nodes[to], points)
        })
        .collect();
    let (width, height) = if down { (across, along) } else { (along, across) };
    GraphLayout { nodes, edges, width, height }
}

/// Trims an edge to the boundary of its boxes; a loop leaves and returns.
fn trimmed(from: &NodeBox, to: &NodeBox, mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let last = points.len() - 1;
    if points.iter().all(|point| *point == points[0]) {
        let (right, up, down) =
            (from.x + from.width / 2.0, from.y - from.height / 4.0, from.y + from.height / 4.0);
        return vec![(right, up), (right + 20.0, up), (right + 20.0, down), (right, down)];
    }
    let (second, before_last) = (points[1], points[last - 1]);
    points[0] = boundary_point(from, second);
    points[last] = boundary_point(to, before_last);
    points
}

fn boundary_point(shape: &NodeBox, towards: (f64, f64)) -> (f64, f64) {
    let (run, rise) = (towards.0 - shape.x, towards.1 - shape.y);
    let across = if run == 0.0 { f64::INFINITY } else { shape.width / 2.0 / run.abs() };
    let along = if rise == 0.0 { f64::INFINITY } else { shape.height / 2.0 / rise.abs() };
    let part = across.min(along).min(1.0);
    (shape.x + run * part, shape.y + rise * part)
}
