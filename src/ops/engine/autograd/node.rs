//! The nodes that a kernel adds to Candle's graph, and what connects them.

use super::backward::{Backward, Downstream, Recorded, Upstream};
use super::total::Sum;
use super::variables::{self, changed_parameter};
use super::views::View;
use crate::error::explain;
use crate::ops::engine::strided::in_order;
use crate::ops::profile;
use crate::tensor::{Raw, base_of, changed_since, changes, mark_base, unmark_base};
use candle_core::{
    CpuStorage, CustomOp1, CustomOp3, Device, Layout, Result, Shape, Storage, TensorId, bail,
};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

/// The link of each living output of a kernel.
///
/// This is ambient state, because a Candle tensor has no field for such data: the next kernel gets
/// only the tensor and finds the link by its id. An entry is removed when the output's node is dropped. It has the
/// values too, so that no other tensor gets their memory before the output is [unmarked](unmark_base) as its owner.
pub(super) static LINKS: LazyLock<Mutex<HashMap<TensorId, (Link, Raw)>>> =
    LazyLock::new(Mutex::default);

/// What the graph keeps of the output of a kernel: all but its values.
#[derive(Clone)]
pub(in crate::ops) struct Link {
    token: Raw,
    pub(in crate::ops) node: Arc<Node>,
}

pub(in crate::ops) fn link_of(tensor: &Raw) -> Option<Link> {
    let links = lock(&LINKS);
    links.get(&tensor.id()).map(|(link, _)| link.clone())
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where a gradient of a kernel goes. If the input is a view, it goes to the part of the base that it shows: Candle would
/// allocate a gradient of the whole tensor for each view.
pub(in crate::ops) enum Source {
    /// Nowhere: the input is constant.
    Constant,
    /// To the kernel that computed the input.
    Kernel(Link, Option<View>),
    /// To a variable, or the result of an operation of Candle's.
    Tensor(Raw, Option<View>),
}

impl Link {
    /// Returns the address of the node, by which it is known.
    pub(in crate::ops) fn address(&self) -> usize {
        Arc::as_ptr(&self.node).addr()
    }
}

impl Source {
    pub(in crate::ops) fn of(input: Option<&Raw>) -> Self {
        match input {
            Some(input) if input.track_op() => match link_of(input) {
                Some(link) => Source::Kernel(link, None),
                None if input.is_variable() => Source::Tensor(input.clone(), None),
                None => Source::of_view(input).unwrap_or(Source::Tensor(input.clone(), None)),
            },
            _ => Source::Constant,
        }
    }

    /// Returns where the gradient of a view goes, if the owner of its memory is known.
    fn of_view(view: &Raw) -> Option<Self> {
        let base = base_of(view)?;
        if let Some((link, values)) = lock(&LINKS).get(&base) {
            let view = View::of(view, values)?.of_different_elements()?;
            return Some(Source::Kernel(link.clone(), Some(view)));
        }
        // A variable, unless another tensor has its memory by now.
        let variable = view.sorted_nodes().into_iter().find(|x| x.id() == base)?;
        let view = View::of(view, variable)?.of_different_elements()?;
        Some(Source::Tensor(variable.clone(), Some(view)))
    }
}

/// A kernel in the graph.
pub(in crate::ops) struct Node {
    pub(in crate::ops) op: Box<dyn Backward>,
    pub(in crate::ops) sources: [Source; 3],
    /// The inputs that [`Backward::keeps`] names.
    pub(super) inputs: [Option<Raw>; 3],
    pub(super) output: Mutex<Option<Raw>>,
    pub(super) slot: Slot,
    pub(in crate::ops) id: OnceLock<TensorId>,
    /// Whether the gradient of the output is kept, for [`of`](crate::tensor::GradStore::of).
    is_retained: AtomicBool,
    /// Identifies the output while a backward pass is measured; 0 if it has no mark.
    mark: AtomicU64,
    recorded_at: u64,
}

impl Node {
    pub(super) fn new(inputs: &[&Raw], op: Box<dyn Backward>) -> Self {
        let keeps = op.keeps();
        let input = |i: usize| inputs.get(i).copied();
        Node {
            sources: [0, 1, 2].map(|i| Source::of(input(i))),
            inputs: [0, 1, 2].map(|i| input(i).filter(|_| keeps[i]).cloned()),
            op,
            output: Mutex::default(),
            slot: Slot::default(),
            id: OnceLock::new(),
            is_retained: AtomicBool::new(false),
            mark: AtomicU64::new(0),
            recorded_at: changes(),
        }
    }

    pub(super) fn wanted(&self) -> [bool; 3] {
        self.sources
            .each_ref()
            .map(|source| !matches!(source, Source::Constant))
    }

    pub(in crate::ops) fn is_retained(&self) -> bool {
        self.is_retained.load(Relaxed)
    }

    /// Returns the values of the output, if they are saved.
    pub(super) fn saved_output(&self) -> Option<Raw> {
        lock(&self.output).clone()
    }

    /// Returns an error if a parameter that the kernel has read has changed since.
    pub(in crate::ops) fn check_versions(&self) -> Result<()> {
        let reads = self.op.reads(self.wanted());
        for (source, _) in self.sources.iter().zip(reads).filter(|(_, reads)| *reads) {
            if let Source::Tensor(input, _) = source
                && changed_since(input, self.recorded_at)
            {
                return Err(changed_parameter(input));
            }
        }
        Ok(())
    }
}

thread_local! {
    /// The sources of the nodes that are being dropped on this thread.
    static DROPPED: RefCell<Option<Vec<Source>>> = const { RefCell::new(None) };
}

/// Drops the nodes before this one after it, not within it: a long graph would need too much stack.
impl Drop for Node {
    fn drop(&mut self) {
        let inputs = self.inputs.iter_mut().filter_map(Option::take);
        let mut sources: Vec<Source> = inputs.map(|x| Source::Tensor(x, None)).collect();
        sources.extend(
            self.sources
                .each_mut()
                .map(|source| std::mem::replace(source, Source::Constant)),
        );
        let is_first = DROPPED.try_with(|all| match &mut *all.borrow_mut() {
            Some(all) => {
                all.append(&mut sources);
                false
            }
            all => {
                *all = Some(std::mem::take(&mut sources));
                true
            }
        });
        if is_first == Ok(true) {
            while let Some(source) = DROPPED.with_borrow_mut(|all| all.as_mut().and_then(Vec::pop))
            {
                drop(source);
            }
            DROPPED.set(None);
        }
    }
}

/// Returns whether a tensor, or what it is a view of, is the output of the sigmoid function in a graph.
pub(in crate::ops) fn is_sigmoid(tensor: &Raw) -> bool {
    if let Some(link) = link_of(tensor) {
        return link.node.op.is_sigmoid();
    }
    base_of(tensor).is_some_and(|base| {
        let links = lock(&LINKS);
        let mut owners = links.values().filter(|(_, values)| values.id() == base);
        owners.any(|(link, _)| link.node.op.is_sigmoid())
    })
}

/// Sets whether the gradient of the output of a kernel is kept; returns whether it was. Does nothing for other tensors.
pub(in crate::ops) fn retain(tensor: &Raw, is_retained: bool) -> bool {
    link_of(tensor).is_some_and(|link| link.node.is_retained.swap(is_retained, Relaxed))
}

/// Marks the output of a kernel: [`came_to`](profile::came_to) gets the mark when a backward pass begins with the kernel.
/// Does nothing for other tensors.
pub(crate) fn mark_output(tensor: &Raw, mark: u64) {
    if let Some(link) = link_of(tensor) {
        link.node.mark.store(mark, Relaxed);
    }
}

/// Adds the nodes of a kernel to Candle's graph, and returns its output.
pub(super) fn connect(
    node: Node,
    inputs: &[&Raw],
    values: CpuStorage,
    shape: Shape,
) -> Result<Raw> {
    let node = Arc::new(node);
    let ends = [0, 1, 2].map(|i| match &node.sources[i] {
        Source::Kernel(link, _) => link.token.clone(),
        Source::Tensor(x, _) => x.clone(),
        Source::Constant => inputs.get(i).copied().unwrap_or(inputs[0]).clone(),
    });
    // An input that is missing is the first once more, whose token takes its place, too.
    let end = |i: usize| if i < inputs.len() { &ends[i] } else { &ends[0] };
    let token = end(0).apply_op3(end(1), end(2), Token(node.clone()))?;
    output_of(Link { token, node }, values, shape)
}

/// Returns a tensor of these values as the output of a kernel, or as another copy of its output.
pub(super) fn output_of(link: Link, values: CpuStorage, shape: Shape) -> Result<Raw> {
    let id = Arc::new(OnceLock::new());
    let end = Output {
        values: Mutex::new(Some((values, shape))),
        node: link.node.clone(),
        id: id.clone(),
    };
    let tensor = link.token.apply_op1(end)?;
    let _ = id.set(tensor.id());
    let _ = link.node.id.set(tensor.id());
    let values = tensor.detach();
    if link.node.op.needs_output() {
        lock(&link.node.output).get_or_insert_with(|| values.clone());
    }
    mark_base(&values);
    lock(&LINKS).insert(tensor.id(), (link, values));
    Ok(tensor)
}

impl Link {
    /// Returns the output with its graph. What a node saves is only the values, because a node that owned its own output
    /// would never be freed; this makes another output of the node, with a copy of the values.
    fn output(&self) -> Result<Raw> {
        let Some(saved) = lock(&self.node.output).clone() else {
            bail!("kernel: the output was not saved");
        };
        let saved = in_order(&saved)?.force_contiguous()?;
        let (storage, _) = saved.storage_and_layout();
        let Storage::Cpu(values) = &*storage else {
            bail!("kernel: expected a tensor on the CPU, found one on a GPU");
        };
        output_of(self.clone(), values.clone(), saved.shape().clone())
    }

    /// Computes the gradients of the inputs from the gradient of the output, recorded.
    pub(in crate::ops) fn recorded(&self, gradient: &Raw) -> Result<Downstream> {
        let saved = lock(&self.node.output).clone();
        self.node.op.recorded(&Recorded {
            gradient,
            wanted: self.node.wanted(),
            inputs: &self.node.inputs,
            saved_output: saved.as_ref(),
            tracked_output: &|| self.output(),
            output: OnceCell::new(),
        })
    }
}

/// The sum of an output's gradients so far, and their count. The kernel that computed the output
/// takes them.
#[derive(Default)]
pub(super) struct Slot(Mutex<(Option<Sum>, f32)>);

impl Slot {
    /// Adds a gradient, or that of a view; returns the 1 that Candle adds to its count.
    pub(super) fn put(&self, gradient: Raw, view: Option<&View>) -> Result<Raw> {
        let mut slot = lock(&self.0);
        slot.0 = Some(Sum::add(slot.0.take(), gradient, view)?);
        slot.1 += 1.0;
        Raw::new(&[1f32], &Device::Cpu)
    }

    fn take(&self, count: &Raw) -> Result<Raw> {
        let (gradient, have) = std::mem::take(&mut *lock(&self.0));
        match gradient {
            Some(sum) if count.to_vec1::<f32>()? == [have] => Ok(sum.into_raw().detach()),
            _ => Err(explain(
                "these gradients are mixed with those of another backward(), which failed or runs at the same time",
                "Compute the loss again, and call backward() on it once",
            ).into()),
        }
    }
}

/// The node of Candle's graph that runs the backward pass.
struct Token(Arc<Node>);

impl CustomOp3 for Token {
    fn name(&self) -> &'static str {
        "taper-kernel"
    }

    fn cpu_fwd(
        &self,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        Ok((CpuStorage::F32(vec![0.0]), Shape::from(1)))
    }

    fn bwd(
        &self,
        _: &Raw,
        _: &Raw,
        _: &Raw,
        _: &Raw,
        count: &Raw,
    ) -> Result<(Option<Raw>, Option<Raw>, Option<Raw>)> {
        let node = &*self.0;
        let mark = node.mark.load(Relaxed);
        if mark > 0 {
            profile::came_to(mark);
        }
        let mut gradient_of_output = node.slot.take(count)?;
        node.check_versions()?;
        if node.is_retained()
            && let Some(id) = node.id.get()
        {
            variables::keep(*id, &gradient_of_output);
        }
        if !node.op.takes_views() {
            gradient_of_output = in_order(&gradient_of_output)?;
        }
        let output = lock(&node.output).clone();
        let gradients = node.op.backward(Upstream {
            gradient: &gradient_of_output,
            wanted: node.wanted(),
            saved_output: output.as_ref(),
        })?;
        drop(gradient_of_output);
        let [x, y, z] = gradients;
        let passed = |gradient, i: usize| match (gradient, &node.sources[i]) {
            (Some(gradient), Source::Kernel(link, view)) => {
                link.node.slot.put(gradient, view.as_ref()).map(Some)
            }
            (Some(gradient), Source::Tensor(x, view)) if x.is_variable() => {
                variables::put(x, gradient, view.as_ref())
            }
            (_, Source::Constant) => Ok(None),
            (gradient, _) => Ok(gradient),
        };
        Ok((passed(x, 0)?, passed(y, 1)?, passed(z, 2)?))
    }
}

/// The node of Candle's graph that holds the values.
struct Output {
    values: Mutex<Option<(CpuStorage, Shape)>>,
    node: Arc<Node>,
    id: Arc<OnceLock<TensorId>>,
}

impl CustomOp1 for Output {
    fn name(&self) -> &'static str {
        "taper-output"
    }

    fn cpu_fwd(&self, _: &CpuStorage, _: &Layout) -> Result<(CpuStorage, Shape)> {
        match lock(&self.values).take() {
            Some(values) => Ok(values),
            None => bail!("kernel: the values of an output can be taken only once"),
        }
    }

    fn bwd(&self, _: &Raw, _: &Raw, gradient: &Raw) -> Result<Option<Raw>> {
        self.node.slot.put(gradient.clone(), None).map(Some)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let entry = self.id.get().and_then(|id| lock(&LINKS).remove(id));
        if let Some((_, values)) = &entry {
            unmark_base(values);
        }
        // Dropping the token may drop other outputs, which take the lock: it must be free by now.
        drop(entry);
    }
}
