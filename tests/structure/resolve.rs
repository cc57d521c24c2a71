//! Follows paths through modules, imports and re-exports to the files that define the items.

use crate::graph::Arrows;
use crate::sources::{Definition, Kind, Sources};
use std::collections::HashSet;

enum Target {
    Module(usize),
    Item(Definition, String),
}

/// The lookups in progress, each a module and a name: re-exports may be cyclic.
type Followed = HashSet<(usize, String)>;

/// Returns which file uses which other file of the same crate.
///
/// A re-export alone does not count: a facade may name everything that it contains.
pub(crate) fn arrows(sources: &Sources) -> Arrows {
    let mut arrows = Arrows::new();
    for (id, module) in sources.modules.iter().enumerate() {
        let mut add = |to: usize, name: &str| {
            if to != module.file {
                let files = [module.file, to].map(|file| sources.files[file].clone());
                arrows
                    .entry(files.into())
                    .or_default()
                    .insert(name.to_owned());
            }
        };
        for path in &module.paths {
            for target in sources.resolve(id, path, &mut Followed::new()) {
                if let Target::Item(definition, name) = target {
                    add(definition.file, &name);
                }
            }
        }
        for import in module.imports.iter().filter(|import| !import.public) {
            for target in sources.resolve(id, &import.path, &mut Followed::new()) {
                // A trait is imported for its methods, and a glob may import the variants of an enum.
                if let Target::Item(definition, name) = target
                    && (definition.kind == Kind::Trait || import.name.is_none())
                {
                    add(definition.file, &name);
                }
            }
        }
        for name in &module.called {
            let unseen = sources
                .lookup(id, id, name, &mut Followed::new())
                .is_empty();
            for &file in sources
                .macros
                .get(name)
                .filter(|_| unseen)
                .into_iter()
                .flatten()
            {
                add(file, name);
            }
        }
    }
    arrows
}

impl Sources {
    /// Resolves a path in a module. The result is empty for items of other crates.
    fn resolve(&self, from: usize, path: &[String], followed: &mut Followed) -> Vec<Target> {
        let mut path = path.iter();
        let Some(first) = path.next() else {
            return Vec::new();
        };
        let mut targets = match first.as_str() {
            "crate" => vec![Target::Module(0)],
            "self" => vec![Target::Module(from)],
            "super" => self.parent(from),
            name if self.own_name.as_deref() == Some(name) => vec![Target::Module(0)],
            name => self.lookup(from, from, name, followed),
        };
        for name in path {
            targets = targets
                .into_iter()
                .flat_map(|target| match target {
                    Target::Module(id) if name == "super" => self.parent(id),
                    Target::Module(id) => self.lookup(id, from, name, followed),
                    // The rest of the path is a method or a variant of the type.
                    Target::Item(definition, _)
                        if matches!(definition.kind, Kind::Value | Kind::Macro) =>
                    {
                        Vec::new()
                    }
                    item @ Target::Item(..) => vec![item],
                })
                .collect();
        }
        targets
    }

    fn parent(&self, id: usize) -> Vec<Target> {
        let parent = self.modules[id].parent;
        parent.map(Target::Module).into_iter().collect()
    }

    /// Resolves a name in module `id`, as seen from module `user`.
    fn lookup(&self, id: usize, user: usize, name: &str, followed: &mut Followed) -> Vec<Target> {
        let module = &self.modules[id];
        let item = |definition| Target::Item(definition, name.to_owned());
        let mut found: Vec<Target> = Vec::new();
        found.extend(module.children.get(name).copied().map(Target::Module));
        found.extend(
            module
                .items
                .get(name)
                .into_iter()
                .flatten()
                .copied()
                .map(item),
        );
        if !followed.insert((id, name.to_owned())) {
            return found;
        }
        let sees_private = self.is_inside(user, id);
        let imports = || {
            let visible = move |public: bool| public || sees_private;
            module
                .imports
                .iter()
                .filter(move |import| visible(import.public))
        };
        for import in imports().filter(|import| import.name.as_deref() == Some(name)) {
            found.extend(self.resolve(id, &import.path, followed));
        }
        if found.is_empty() {
            for import in imports().filter(|import| import.name.is_none()) {
                for target in self.resolve(id, &import.path, &mut followed.clone()) {
                    if let Target::Module(other) = target {
                        found.extend(self.lookup(other, id, name, followed));
                    }
                }
            }
        }
        if found.is_empty() && module.generated.contains(name) {
            let kind = Kind::Type;
            found.push(item(Definition {
                file: module.file,
                kind,
            }));
        }
        followed.remove(&(id, name.to_owned()));
        found
    }

    fn is_inside(&self, mut id: usize, ancestor: usize) -> bool {
        while id != ancestor {
            match self.modules[id].parent {
                Some(parent) => id = parent,
                None => return false,
            }
        }
        true
    }
}
