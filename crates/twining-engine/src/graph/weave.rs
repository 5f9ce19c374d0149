//! Weaving: entities and relations added to a change, none of them twice.

use std::collections::{BTreeMap, HashMap, HashSet};

use twining_model::{Change, EntityType, RelationType};
use twining_store::{StoreError, View};

use crate::caller::Stamp;
use crate::graph::entity::new_entity;
use crate::graph::relation::new_relation;

/// Adds to a change what the graph lacks; what it has is left as it is.
pub(crate) struct GraphUpsert<'a, 'v> {
    change: &'a mut Change,
    view: &'a View<'v>,
    stamp: &'a Stamp<'a>,
    known: HashMap<(String, EntityType), String>,
    fresh: HashSet<String>,
}

impl<'a, 'v> GraphUpsert<'a, 'v> {
    pub(crate) fn new(change: &'a mut Change, view: &'a View<'v>, stamp: &'a Stamp<'a>) -> Self {
        Self { change, view, stamp, known: HashMap::new(), fresh: HashSet::new() }
    }

    /// The id of the entity with this name and type, made now if need be.
    pub(crate) fn entity(&mut self, name: &str, kind: EntityType, properties: &[(&str, &str)]) -> Result<String, StoreError> {
        let key = (name.to_owned(), kind);
        if let Some(id) = self.known.get(&key) {
            return Ok(id.clone());
        }
        let id = match self.view.graph().named_as(name, kind.as_str())? {
            Some(entity) => entity.id,
            None => {
                let entity = new_entity(name, kind, owned(properties), self.stamp);
                let id = entity.id.clone();
                self.fresh.insert(id.clone());
                self.change.entities.push(entity);
                id
            }
        };
        self.known.insert(key, id.clone());
        Ok(id)
    }

    /// Relates two entities, unless they are so related already. Callers name
    /// each pair once.
    pub(crate) fn relate(&mut self, source: &str, kind: RelationType, target: &str, properties: &[(&str, &str)]) -> Result<(), StoreError> {
        let may_exist = !self.fresh.contains(source) && !self.fresh.contains(target);
        if may_exist && self.view.graph().relation_between(source, target, kind.as_str())?.is_some() {
            return Ok(());
        }
        self.change.relations.push(new_relation(source, target, kind, owned(properties), self.stamp));
        Ok(())
    }
}

fn owned(properties: &[(&str, &str)]) -> BTreeMap<String, String> {
    properties.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
}
