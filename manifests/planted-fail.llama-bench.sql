CREATE TABLE IF NOT EXISTS llama_bench (
  build_commit TEXT,
  build_number INTEGER,
  cpu_info TEXT,
  gpu_info TEXT,
  backends TEXT,
  model_filename TEXT,
  model_type TEXT,
  model_size INTEGER,
  model_n_params INTEGER,
  n_batch INTEGER,
  n_ubatch INTEGER,
  n_threads INTEGER,
  cpu_mask TEXT,
  cpu_strict INTEGER,
  poll INTEGER,
  type_k TEXT,
  type_v TEXT,
  n_gpu_layers INTEGER,
  n_cpu_moe INTEGER,
  split_mode TEXT,
  main_gpu INTEGER,
  no_kv_offload INTEGER,
  flash_attn INTEGER,
  devices TEXT,
  tensor_split TEXT,
  tensor_buft_overrides TEXT,
  load_mode TEXT,
  embeddings INTEGER,
  no_op_offload INTEGER,
  no_host INTEGER,
  fit_target INTEGER,
  fit_min_ctx INTEGER,
  n_prompt INTEGER,
  n_gen INTEGER,
  n_depth INTEGER,
  test_time TEXT,
  avg_ns INTEGER,
  stddev_ns INTEGER,
  avg_ts REAL,
  stddev_ts REAL
);

-- build_commit 1c89040f, build_number 0: arm base
-- build_commit 00b1e963, build_number 1: arm head
INSERT INTO llama_bench (build_commit, build_number, cpu_info, gpu_info, backends, model_filename, model_type, model_size, model_n_params, n_batch, n_ubatch, n_threads, cpu_mask, cpu_strict, poll, type_k, type_v, n_gpu_layers, n_cpu_moe, split_mode, main_gpu, no_kv_offload, flash_attn, devices, tensor_split, tensor_buft_overrides, load_mode, embeddings, no_op_offload, no_host, fit_target, fit_min_ctx, n_prompt, n_gen, n_depth, test_time, avg_ns, stddev_ns, avg_ts, stddev_ts) VALUES ('1c89040f', '0', 'Intel(R) Xeon(R) Processor', '', 'embedded (CPU time, PLANTED slowdown of 40 % in head)', 'unit-rocmfp2.gguf', 'deepseek4 unit rocmfp2', '8727136', '0', '32', '32', '2', '', '0', '0', '', '', '0', '0', '', '0', '0', '-1', '', '', '', '', '0', '0', '0', '0', '0', '64', '0', '0', '2026-11-30T16:50:23.112Z', '9160132', '869336', '7048.173144566666', '672.7831549945064');
INSERT INTO llama_bench (build_commit, build_number, cpu_info, gpu_info, backends, model_filename, model_type, model_size, model_n_params, n_batch, n_ubatch, n_threads, cpu_mask, cpu_strict, poll, type_k, type_v, n_gpu_layers, n_cpu_moe, split_mode, main_gpu, no_kv_offload, flash_attn, devices, tensor_split, tensor_buft_overrides, load_mode, embeddings, no_op_offload, no_host, fit_target, fit_min_ctx, n_prompt, n_gen, n_depth, test_time, avg_ns, stddev_ns, avg_ts, stddev_ts) VALUES ('00b1e963', '1', 'Intel(R) Xeon(R) Processor', '', 'embedded (CPU time, PLANTED slowdown of 40 % in head)', 'unit-rocmfp2.gguf', 'deepseek4 unit rocmfp2', '8727136', '0', '32', '32', '2', '', '0', '0', '', '', '0', '0', '', '0', '0', '-1', '', '', '', '', '0', '0', '0', '0', '0', '64', '0', '0', '2026-11-30T16:50:23.112Z', '13932787', '1482936', '4646.596832633334', '520.4688357769373');
INSERT INTO llama_bench (build_commit, build_number, cpu_info, gpu_info, backends, model_filename, model_type, model_size, model_n_params, n_batch, n_ubatch, n_threads, cpu_mask, cpu_strict, poll, type_k, type_v, n_gpu_layers, n_cpu_moe, split_mode, main_gpu, no_kv_offload, flash_attn, devices, tensor_split, tensor_buft_overrides, load_mode, embeddings, no_op_offload, no_host, fit_target, fit_min_ctx, n_prompt, n_gen, n_depth, test_time, avg_ns, stddev_ns, avg_ts, stddev_ts) VALUES ('1c89040f', '0', 'Intel(R) Xeon(R) Processor', '', 'embedded (CPU time, PLANTED slowdown of 40 % in head)', 'unit-rocmfp2.gguf', 'deepseek4 unit rocmfp2', '8727136', '0', '128', '128', '2', '', '0', '0', '', '', '0', '0', '', '0', '0', '-1', '', '', '', '', '0', '0', '0', '0', '0', '300', '0', '0', '2026-11-30T16:50:23.112Z', '36831596', '2376653', '8180.017950466668', '559.2642757221366');
INSERT INTO llama_bench (build_commit, build_number, cpu_info, gpu_info, backends, model_filename, model_type, model_size, model_n_params, n_batch, n_ubatch, n_threads, cpu_mask, cpu_strict, poll, type_k, type_v, n_gpu_layers, n_cpu_moe, split_mode, main_gpu, no_kv_offload, flash_attn, devices, tensor_split, tensor_buft_overrides, load_mode, embeddings, no_op_offload, no_host, fit_target, fit_min_ctx, n_prompt, n_gen, n_depth, test_time, avg_ns, stddev_ns, avg_ts, stddev_ts) VALUES ('00b1e963', '1', 'Intel(R) Xeon(R) Processor', '', 'embedded (CPU time, PLANTED slowdown of 40 % in head)', 'unit-rocmfp2.gguf', 'deepseek4 unit rocmfp2', '8727136', '0', '128', '128', '2', '', '0', '0', '', '', '0', '0', '', '0', '0', '-1', '', '', '', '', '0', '0', '0', '0', '0', '300', '0', '0', '2026-11-30T16:50:23.112Z', '53401399', '3363780', '5639.5083402', '357.2735770058367');
