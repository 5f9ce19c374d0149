//! Conflicts within conflicts.
//!
//! Where people commit what git left and merge again, git takes the old markers for
//! text, and shortens the new conflict to the lines that truly differ. So conflicts
//! of several merges do not lie within each other neatly: a new one may begin in the
//! middle of an old one and end after it. Which marker belongs to which merge is
//! written nowhere but in the name at the end. Readings are tried, the likeliest
//! first, and the first is taken of which every version is whole.

use super::Versions;
use super::conflict::{Marker, marker};

/// What a kind of file is made of.
#[derive(Clone, Copy, Debug)]
pub struct Joining {
    /// The first line of a text that cannot be in such a file; none if it is whole.
    pub damage: fn(&[u8]) -> Option<usize>,
    /// Two of them as one; none where people must settle it.
    pub join: fn(&Versions<'_>) -> Option<Vec<u8>>,
}

impl Joining {
    /// Whether a text is such a file.
    #[must_use]
    pub fn is_whole(&self, text: &[u8]) -> bool {
        (self.damage)(text).is_none()
    }
}

/// Orders of merges that are tried before a file is given up.
const ORDERS: usize = 40;
/// Steps that may be taken to find them.
const STEPS: usize = 20_000;
/// Ways in which the markers of one stretch may belong together that are followed.
const WAYS: usize = 48;
/// Mixes of older sides that are tried with one version.
const MIXES: usize = 64;
/// With more markers than this, merges are not told apart.
const MARKERS: usize = 2_000;

/// A file as one, whatever git left in it; none where that cannot be made out, or
/// where people must settle it.
#[must_use]
pub fn untangle(text: &[u8], joining: &Joining) -> Option<Vec<u8>> {
    let lines = Lines::of(text);
    if lines.markers.is_empty() {
        return joining.is_whole(text).then(|| text.to_vec());
    }
    let neat = lines.neat();
    if let Some(one) = neat.as_ref().filter(|neat| neat.merges == 1).and_then(|flat| lines.joined(flat, joining)) {
        return Some(one);
    }
    let stretches = lines.stretches().filter(|_| lines.markers.len() <= MARKERS).unwrap_or_default();
    let mut search = Search { lines: &lines, joining, orders: ORDERS, steps: STEPS };
    let found = if stretches.is_empty() { None } else { search.next_merge(&stretches, 0) };
    found.or_else(|| neat.and_then(|neat| lines.joined(&neat, joining)))
}

/// The ancestor (empty unless git was told to show it), our side and theirs of a file in
/// which git left one merge, whether or not they can be made one. None where conflicts
/// of several merges stand in it, or a side is no such file.
#[must_use]
pub fn sides(text: &[u8], joining: &Joining) -> Option<[Vec<u8>; 3]> {
    let lines = Lines::of(text);
    let reading = lines.neat().filter(|neat| neat.merges == 1)?;
    let whole = |side| lines.whole(&reading, side, joining).ok().map(|(text, _)| text);
    let shows_base = lines.markers.iter().any(|(_, marker)| *marker == Marker::Base);
    let base = Some(lines.version(&reading, &[Section::Base])).filter(|base| shows_base && joining.is_whole(base));
    Some([base.unwrap_or_default(), whole(None)?, whole(Some(0))?])
}

/// For each marker the merge it is of, counted from the latest.
struct Reading {
    merge_of: Vec<usize>,
    merges: usize,
}

impl Reading {
    /// What came in by each merge, and our own side.
    fn sides(&self) -> impl Iterator<Item = Option<usize>> {
        (0..self.merges).map(Some).chain([None])
    }
}

/// Of which part of a conflict a version is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Both,
    Ours,
    Base,
    Theirs,
}

impl Section {
    fn after(self, marker: Marker<'_>) -> Option<Self> {
        match (self, marker) {
            (Self::Both, Marker::Ours) => Some(Self::Ours),
            (Self::Ours, Marker::Base) => Some(Self::Base),
            (Self::Ours | Self::Base, Marker::Theirs) => Some(Self::Theirs),
            (Self::Theirs, Marker::End(_)) => Some(Self::Both),
            _ => None,
        }
    }
}

/// Markers that belong together, by themselves: every conflict that begins there
/// ends there. Each way gives every marker its merge, or none yet.
#[derive(Clone)]
struct Stretch {
    from: usize,
    ways: Vec<Vec<Option<usize>>>,
}

impl Stretch {
    /// The markers that have no merge yet, in one of the ways.
    fn left(&self, way: &[Option<usize>]) -> Vec<usize> {
        way.iter().enumerate().filter(|(_, merge)| merge.is_none()).map(|(at, _)| self.from + at).collect()
    }
}

struct Lines<'t> {
    lines: Vec<&'t [u8]>,
    markers: Vec<(usize, Marker<'t>)>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t [u8]) -> Self {
        let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
        let mut markers: Vec<(usize, Marker<'_>)> =
            lines.iter().enumerate().filter_map(|(at, line)| marker(line).map(|marker| (at, marker))).collect();
        // A line of equal signs alone may be anybody's text.
        if !markers.iter().any(|(_, marker)| matches!(marker, Marker::Ours | Marker::End(_))) {
            markers.clear();
        }
        Self { lines, markers }
    }

    /// The reading of a text in which conflicts lie within others neatly: how deep
    /// one lies is the merge it is of.
    fn neat(&self) -> Option<Reading> {
        let (mut merge_of, mut open, mut merges) = (Vec::with_capacity(self.markers.len()), Vec::new(), 0);
        for (_, marker) in &self.markers {
            if *marker == Marker::Ours {
                open.push(Section::Both);
                merges = merges.max(open.len());
            }
            merge_of.push(open.len().checked_sub(1)?);
            let at = open.last_mut()?;
            *at = at.after(*marker)?;
            if *at == Section::Both {
                open.pop();
            }
        }
        open.is_empty().then_some(Reading { merge_of, merges })
    }

    /// The text in stretches of which none knows of another; none if a conflict does not end.
    fn stretches(&self) -> Option<Vec<Stretch>> {
        let (mut stretches, mut from, mut open) = (Vec::new(), 0, 0_usize);
        for (at, (_, marker)) in self.markers.iter().enumerate() {
            match marker {
                Marker::Ours => open += 1,
                Marker::End(_) => open = open.checked_sub(1)?,
                _ => continue,
            }
            if open == 0 {
                stretches.push(Stretch { from, ways: vec![vec![None; at + 1 - from]] });
                from = at + 1;
            }
        }
        (open == 0 && from == self.markers.len()).then_some(stretches)
    }

    /// How many of its versions a reading makes whole, and how far the others can be read.
    fn worth(&self, reading: &Reading, joining: &Joining) -> (usize, usize) {
        reading.sides().fold((0, 0), |(whole, lines), side| match self.whole(reading, side, joining) {
            Ok(_) => (whole + 1, lines),
            Err(line) => (whole, lines + line),
        })
    }

    /// Every version that a reading gives, as one.
    fn joined(&self, reading: &Reading, joining: &Joining) -> Option<Vec<u8>> {
        // All are looked at before any is joined: most readings fail at one of them.
        let mut versions =
            reading.sides().map(|side| Some((side, self.whole(reading, side, joining).ok()?))).collect::<Option<Vec<_>>>()?;
        let (_, (ours, _)) = versions.pop()?;
        let shows_base = self.markers.iter().any(|(_, marker)| *marker == Marker::Base);
        versions.into_iter().rev().try_fold(ours, |ours, (side, (theirs, mut chosen))| {
            side.into_iter().for_each(|merge| chosen[merge] = Section::Base);
            // Of the ancestor only what is whole counts: it says what may be left out.
            let base = Some(self.version(reading, &chosen)).filter(|base| shows_base && joining.is_whole(base));
            (joining.join)(&Versions { base: base.as_deref().unwrap_or_default(), ours: &ours, theirs: &theirs })
        })
    }

    /// What came in by a merge, or our own side, as a whole file, and which part of
    /// each merge it is made of; else how far it can be read. What git took over
    /// without a conflict may have been put next to either side of an older one.
    fn whole(&self, reading: &Reading, side: Option<usize>, joining: &Joining) -> Result<(Vec<u8>, Vec<Section>), usize> {
        let older = side.map_or(0, |merge| reading.merges - merge - 1);
        let mut furthest = 0;
        for mix in 0..MIXES.min(1 << older.min(16)) {
            let mut chosen = vec![Section::Ours; reading.merges];
            side.into_iter().for_each(|merge| chosen[merge] = Section::Theirs);
            let theirs = (0..older).filter(|bit| mix >> bit & 1 == 1);
            theirs.for_each(|bit| chosen[reading.merges - older + bit] = Section::Theirs);
            let text = self.version(reading, &chosen);
            match (joining.damage)(&text) {
                None => return Ok((text, chosen)),
                Some(line) => furthest = furthest.max(line),
            }
        }
        Err(furthest)
    }

    /// The file made of these parts of each merge.
    fn version(&self, reading: &Reading, chosen: &[Section]) -> Vec<u8> {
        let mut at = vec![Section::Both; reading.merges];
        let mut markers = self.markers.iter().zip(&reading.merge_of).peekable();
        let mut text = Vec::new();
        for (number, line) in self.lines.iter().enumerate() {
            if let Some(((_, marker), merge)) = markers.next_if(|((at, _), _)| *at == number) {
                at[*merge] = at[*merge].after(*marker).unwrap_or(at[*merge]);
                continue;
            }
            // What came from their side of a merge knows nothing of the merges before it.
            let stands = |(section, chosen): (&Section, &Section)| match section {
                Section::Both => None,
                Section::Ours if *chosen == Section::Ours => None,
                section => Some(chosen == section),
            };
            if at.iter().zip(chosen).find_map(stands).unwrap_or(true) {
                text.extend_from_slice(line);
            }
        }
        text
    }
}

struct Search<'s> {
    lines: &'s Lines<'s>,
    joining: &'s Joining,
    orders: usize,
    steps: usize,
}

/// The markers of one conflict.
struct Conflict {
    starts: Vec<usize>,
    rest: Vec<usize>,
}

impl<'s> Search<'s> {
    /// Takes one merge after the other away, the latest first, until no marker is left.
    fn next_merge(&mut self, stretches: &[Stretch], merge: usize) -> Option<Vec<u8>> {
        let left: Vec<usize> =
            stretches.iter().flat_map(|stretch| stretch.ways.first().map(|way| stretch.left(way)).unwrap_or_default()).collect();
        if left.is_empty() {
            self.orders = self.orders.checked_sub(1)?;
            return self.best(stretches, merge);
        }
        self.names(&left).into_iter().find_map(|name| {
            if self.orders == 0 {
                return None;
            }
            let placed = stretches.iter().map(|stretch| self.place(stretch, name, merge)).collect::<Option<Vec<_>>>()?;
            self.next_merge(&placed, merge + 1)
        })
    }

    /// Every way to place the conflicts of a merge in a stretch; none if it cannot be the latest there.
    fn place(&mut self, stretch: &Stretch, name: &[u8], merge: usize) -> Option<Stretch> {
        let mut ways = Vec::new();
        for way in &stretch.ways {
            let Some(conflicts) = self.conflicts(&stretch.left(way), name) else { continue };
            let mut begun = vec![way.clone()];
            for conflict in &conflicts {
                self.steps = self.steps.checked_sub(1)?;
                let with = |way: &Vec<Option<usize>>, start: usize| {
                    let mut way = way.clone();
                    conflict.rest.iter().chain([&start]).for_each(|at| way[at - stretch.from] = Some(merge));
                    way
                };
                begun = begun.iter().flat_map(|way| conflict.starts.iter().map(move |start| with(way, *start))).take(WAYS).collect();
            }
            ways.extend(begun);
            if ways.len() >= WAYS {
                break;
            }
        }
        (!ways.is_empty()).then_some(Stretch { from: stretch.from, ways })
    }

    /// The reading of this order that makes every version whole, if there is one:
    /// stretch by stretch the way is taken that makes the most of them so.
    fn best(&mut self, stretches: &[Stretch], merges: usize) -> Option<Vec<u8>> {
        let mut chosen = vec![0_usize; stretches.len()];
        let reading = |chosen: &[usize]| {
            let ways = stretches.iter().zip(chosen).flat_map(|(stretch, way)| stretch.ways[*way].iter());
            Reading { merge_of: ways.map(|merge| merge.unwrap_or_default()).collect(), merges }
        };
        let mut most = self.lines.worth(&reading(&chosen), self.joining);
        for (at, stretch) in stretches.iter().enumerate() {
            for way in 1..stretch.ways.len() {
                if most.0 == merges + 1 {
                    break;
                }
                self.steps = self.steps.checked_sub(1)?;
                let before = std::mem::replace(&mut chosen[at], way);
                let worth = self.lines.worth(&reading(&chosen), self.joining);
                if worth > most {
                    most = worth;
                } else {
                    chosen[at] = before;
                }
            }
        }
        if most.0 == merges + 1 { self.lines.joined(&reading(&chosen), self.joining) } else { None }
    }

    /// What merges are called; first the one whose conflicts lie within others the least.
    fn names(&self, left: &[usize]) -> Vec<&'s [u8]> {
        let mut depths: Vec<(&[u8], usize, usize)> = Vec::new();
        let mut depth = 0_usize;
        for at in left {
            match self.lines.markers[*at].1 {
                Marker::Ours => depth += 1,
                Marker::End(name) => {
                    depth = depth.saturating_sub(1);
                    match depths.iter_mut().find(|(known, ..)| *known == name) {
                        Some((_, sum, times)) => (*sum, *times) = (*sum + depth, *times + 1),
                        None => depths.push((name, depth, 1)),
                    }
                }
                _ => {}
            }
        }
        // Compared as fractions; of equals the one that ends last.
        depths.reverse();
        depths.sort_by(|(_, sum, times), (_, other_sum, other_times)| (sum * other_times).cmp(&(other_sum * times)));
        depths.into_iter().map(|(name, ..)| name).collect()
    }

    /// The conflicts of a merge of that name, if it can be the latest: no marker
    /// of another stands in what came from its side.
    fn conflicts(&self, left: &[usize], name: &[u8]) -> Option<Vec<Conflict>> {
        let kind = |place: usize| self.lines.markers[left[place]].1;
        let (mut conflicts, mut from) = (Vec::new(), 0);
        for end in (0..left.len()).filter(|place| kind(*place) == Marker::End(name)) {
            let divide = end.checked_sub(1).filter(|place| *place >= from && kind(*place) == Marker::Theirs)?;
            let base = divide.checked_sub(1).filter(|place| *place >= from && kind(*place) == Marker::Base);
            let until = base.unwrap_or(divide);
            let starts = self.starts(left, from, until);
            if starts.is_empty() {
                return None;
            }
            let rest = base.into_iter().chain([divide, end]).map(|place| left[place]).collect();
            conflicts.push(Conflict { starts, rest });
            from = end + 1;
        }
        Some(conflicts)
    }

    /// Where a conflict may begin, the likeliest first: where older ones lie in it whole.
    fn starts(&self, left: &[usize], from: usize, until: usize) -> Vec<usize> {
        let (mut whole, mut torn) = (Vec::new(), Vec::new());
        let (mut inside, mut wanted) = (0_usize, false);
        for place in (from..until).rev() {
            match self.lines.markers[left[place]].1 {
                Marker::End(_) => inside += 1,
                Marker::Ours => {
                    wanted |= inside == 0 && whole.is_empty();
                    inside = inside.saturating_sub(1);
                    // Of beginnings in a row the first stands for all: they look the same.
                    if place == from || !self.follow(left[place - 1], left[place]) {
                        if wanted { &mut whole } else { &mut torn }.push(left[place]);
                        wanted = false;
                    }
                }
                _ => {}
            }
        }
        whole.extend(torn);
        whole
    }

    /// Whether two conflicts begin in the same words, line after line.
    fn follow(&self, one: usize, other: usize) -> bool {
        let [(line, marker), (next, _)] = [one, other].map(|at| self.lines.markers[at]);
        marker == Marker::Ours && line + 1 == next && self.lines.lines[line] == self.lines.lines[next]
    }
}
