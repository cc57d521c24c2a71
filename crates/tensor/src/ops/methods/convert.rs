//! Values out of a tensor; other types, devices and graphs.

use crate::error::{OrRaise, raise};
use crate::ops::contiguous::copied_in_order;
use crate::ops::engine::autograd::has_kernel;
use crate::tensor::{
    Candle, Raw, Tensor, copied, moved, placed, rand, randn, storage_address, with_device,
};
use candle_core::{DType, Device, Result, WithDType};

impl Tensor {
    methods! {
        /// Returns the value of a tensor with one element.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let loss = mse_loss(&tensor(&[1.0, 2.0]), &tensor(&[0.0, 0.0]));
        /// assert_eq!(loss.item(), 2.5);
        /// ```
        ///
        /// # Panics
        /// If the tensor does not have exactly one element.
        pub fn item(&self) -> f64 = self.only();

        /// Returns the value of a tensor with one element, in the tensor's own type.
        ///
        /// # Panics
        /// If the tensor does not have exactly one element, or its type is another one.
        pub fn to_scalar<T: WithDType>(&self) -> T = self.only_element::<T>(self.dtype());

        /// Returns the elements, in the order of their indices.
        ///
        /// # Panics
        /// If the elements have another type.
        pub fn to_vec<T: WithDType>(&self) -> Vec<T> = {
            let flat = readable(self.raw()).and_then(|x| x.flatten_all());
            flat.and_then(|x| x.to_vec1()).or_raise()
        };

        /// Returns the elements of a tensor with one dimension.
        ///
        /// # Panics
        /// If the tensor has another number of dimensions, or the elements have another type.
        pub fn to_vec1<T: WithDType>(&self) -> Vec<T> = readable(self.raw()).and_then(|x| x.to_vec1()).or_raise();

        /// Returns the rows of a tensor with two dimensions.
        ///
        /// # Panics
        /// If the tensor has another number of dimensions, or the elements have another type.
        pub fn to_vec2<T: WithDType>(&self) -> Vec<Vec<T>> = {
            let (rows, _) = self.raw().dims2().or_raise();
            parts(&self.to_vec(), rows)
        };

        /// Returns the matrices of a tensor with three dimensions.
        ///
        /// # Panics
        /// If the tensor has another number of dimensions, or the elements have another type.
        pub fn to_vec3<T: WithDType>(&self) -> Vec<Vec<Vec<T>>> = {
            let (matrices, rows, _) = self.raw().dims3().or_raise();
            let all = parts(&self.to_vec(), matrices * rows);
            parts(&all, matrices)
        };

        /// Returns the elements in another type.
        pub fn to_dtype(&self, dtype: DType) -> Tensor = self.raw().to_dtype(dtype).or_raise().into();

        /// Returns the tensor on a device: itself if it is there already, or else a copy.
        ///
        /// # Panics
        /// If the device does not have enough memory or cannot be reached.
        pub fn to_device(&self, device: &Device) -> Tensor = moved(self.raw(), device).or_raise().into();

        /// Copies the tensor to `device`, into memory of its own, also when the tensor is there already.
        ///
        /// The copy has the same shape and is contiguous. Gradients flow back through it.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = ones((2, 3)); // (2, 3)
        /// assert!(!x.copy_to(&cpu()).shares_storage_with(&x));
        /// assert!(x.to_device(&cpu()).shares_storage_with(&x)); // already there
        /// ```
        ///
        /// # Panics
        /// If the device does not have enough memory or cannot be reached.
        pub fn copy_to(&self, device: &Device) -> Tensor = copy(self.raw(), device).or_raise().into();

        /// Returns zeros of the same shape and type, on the same device.
        pub fn zeros_like(&self) -> Tensor = self.raw().zeros_like().or_raise().into();
        /// Returns ones of the same shape and type, on the same device.
        pub fn ones_like(&self) -> Tensor = self.raw().ones_like().or_raise().into();
        /// Returns random values between 0 and 1 of the same shape and type, on the same device.
        pub fn rand_like(&self) -> Tensor = with_device(self.device(), || rand(self.shape())).to_dtype(self.dtype());
        /// Returns values of the standard normal distribution, of the same shape and type, on the same device.
        pub fn randn_like(&self) -> Tensor = with_device(self.device(), || randn(self.shape())).to_dtype(self.dtype());
        /// Applies one of Candle's modules.
        pub fn apply(&self, module: &impl candle_core::Module) -> Tensor =
            crate::ops::tape::foreign(&[self.raw()], &mut |x| module.forward(&x[0])).or_raise().into();

        /// Computes the gradients of a loss, a tensor with one element, as [`backward`](crate::ops::backward)
        /// does.
        pub fn backward(&self) -> crate::tensor::GradStore = crate::ops::backward(self);

        /// Returns the gradients of this loss with their graph; see [`backward_graph`](crate::ops::backward_graph).
        ///
        /// # Panics
        /// As [`backward_graph`](crate::ops::backward_graph).
        pub fn backward_graph(&self) -> crate::tensor::GradStore = crate::ops::backward_graph(self);

        /// Keeps the gradient of this tensor in each backward pass, so that [`of`](crate::tensor::GradStore::of) returns it.
        /// Returns the same tensor.
        ///
        /// # Panics
        /// If the tensor was not computed from a parameter.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = Parameter::new(&tensor(&[1.0, 2.0])).tensor(); // (2,)
        /// let h = (x * 3.0).retain_grad();
        /// let gradients = h.sqr().sum_all().backward();
        /// assert_eq!(gradients.of(&h).to_vec1::<f32>(), [6.0, 12.0]);
        /// ```
        pub fn retain_grad(&self) -> Tensor = crate::ops::retain_grad(self);
    }

    #[track_caller]
    fn only(&self) -> f64 {
        self.only_element::<f64>(DType::F64)
    }

    #[track_caller]
    fn only_element<T: WithDType>(&self, dtype: DType) -> T {
        self.check_one_element();
        let element = element(self.as_candle(), dtype);
        element.and_then(|x| x.to_scalar()).or_raise()
    }

    #[track_caller]
    fn check_one_element(&self) {
        raise!(if self.elem_count() != 1; shape("item", self.dims());
            "a tensor with one element",
            "Choose an element with x.i((…)), or reduce the tensor: x.sum_all(), x.mean_all()");
    }

    /// Returns whether two tensors share their memory, as a view and its origin do.
    pub fn shares_storage_with(&self, other: &Tensor) -> bool {
        storage_address(self.raw()) == storage_address(other.raw())
    }

    /// Returns the same elements as a constant, through which no gradient flows.
    pub fn detach(&self) -> Tensor {
        self.raw().detach().into()
    }

    /// Returns whether gradients flow through the tensor to a parameter.
    pub fn track_op(&self) -> bool {
        self.raw().track_op()
    }

    /// Returns a tensor with these elements, on the [default device](crate::tensor::default_device).
    #[inline]
    #[track_caller]
    pub fn from_vec<T: WithDType>(
        values: Vec<T>,
        shape: impl candle_core::shape::ShapeWithOneHole,
    ) -> Tensor {
        placed(Raw::from_vec(values, shape, &Device::Cpu))
    }

    /// Returns a tensor with these elements, on this device whatever the default device is.
    #[track_caller]
    #[doc(hidden)]
    pub fn from_vec_on<T: WithDType>(
        values: Vec<T>,
        shape: impl candle_core::shape::ShapeWithOneHole,
        device: &Device,
    ) -> Tensor {
        Raw::from_vec(values, shape, device).or_raise().into()
    }

    /// Returns a tensor with a copy of these elements, on the [default device](crate::tensor::default_device).
    #[inline]
    #[track_caller]
    pub fn from_slice<T: WithDType>(
        values: &[T],
        shape: impl candle_core::shape::ShapeWithOneHole,
    ) -> Tensor {
        placed(Raw::from_slice(values, shape, &Device::Cpu))
    }
}

/// Returns a copy on a device; within the CPU on all cores.
fn copy(x: &Raw, device: &Device) -> Result<Raw> {
    match device.is_cpu() && has_kernel(&[x]) && x.elem_count() > 0 {
        true => copied_in_order(x),
        false => copied(x, device),
    }
}

/// Returns a tensor that Candle can read: it reads views of no elements out of bounds.
fn readable(x: &Raw) -> Result<Candle> {
    match x.elem_count() {
        0 => Candle::zeros(x.shape(), x.dtype(), &Device::Cpu),
        _ => Ok(x.values().clone()),
    }
}

/// Returns the only element as a scalar of this type.
#[inline(never)]
fn element(x: &Candle, dtype: DType) -> Result<Candle> {
    x.reshape(())?.to_dtype(dtype)
}

/// Returns the values in this many lists of equal lengths.
fn parts<T: Clone>(values: &[T], count: usize) -> Vec<Vec<T>> {
    let len = values.len() / count.max(1);
    (0..count)
        .map(|i| values[i * len..][..len].to_vec())
        .collect()
}
