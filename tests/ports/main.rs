//! Programs of the examples and courses of PyTorch, written with Taper: each trains for 20 steps, and its losses match
//! the losses of the same program in PyTorch, from the same weights and batches. The program in PyTorch is beside it,
//! with the same name; `run.py` runs both and stores PyTorch's losses in `losses.txt`.
//!
//! Between `// begin` and `// end` are the model and its loss, whose lines `README.md` compares.

mod actor_critic;
mod bert;
mod contrastive;
mod dcgan;
mod ddpm;
mod distillation;
mod dqn;
mod fcn;
mod flow_matching;
mod forward_forward;
mod gat;
mod gaussian_process;
mod gcn;
mod lines;
mod lora;
mod matrix_factorization;
mod min_gpt;
mod reinforce;
mod run;
mod seq2seq;
mod siamese;
mod ssd;
mod style_transfer;
mod super_resolution;
mod time_sequence;
mod vae;
mod vision_transformer;
mod vq_vae;
mod wavenet;
mod wgan_gp;
mod word2vec;
mod word_language_model;
