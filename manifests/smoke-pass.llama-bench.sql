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

-- build_commit 16dabea1, build_number 0: arm base
-- build_commit fa58122b, build_number 1: arm head
INSERT INTO llama_bench (build_commit, build_number, cpu_info, gpu_info, backends, model_filename, model_type, model_size, model_n_params, n_batch, n_ubatch, n_threads, cpu_mask, cpu_strict, poll, type_k, type_v, n_gpu_layers, n_cpu_moe, split_mode, main_gpu, no_kv_offload, flash_attn, devices, tensor_split, tensor_buft_overrides, load_mode, embeddings, no_op_offload, no_host, fit_target, fit_min_ctx, n_prompt, n_gen, n_depth, test_time, avg_ns, stddev_ns, avg_ts, stddev_ts) VALUES ('16dabea1', '0', 'Intel(R) Xeon(R) Processor', '', 'embedded (CPU time)', 'unit-rocmfp2.gguf', 'deepseek4 unit rocmfp2', '8727136', '0', '32', '32', '2', '', '0', '0', '', '', '0', '0', '', '0', '0', '-1', '', '', '', '', '0', '0', '0', '0', '0', '64', '0', '0', '2026-11-30T16:50:02.734Z', '21980191', '2739478', '2970.628988533333', '494.05161485153167');
INSERT INTO llama_bench (build_commit, build_number, cpu_info, gpu_info, backends, model_filename, model_type, model_size, model_n_params, n_batch, n_ubatch, n_threads, cpu_mask, cpu_strict, poll, type_k, type_v, n_gpu_layers, n_cpu_moe, split_mode, main_gpu, no_kv_offload, flash_attn, devices, tensor_split, tensor_buft_overrides, load_mode, embeddings, no_op_offload, no_host, fit_target, fit_min_ctx, n_prompt, n_gen, n_depth, test_time, avg_ns, stddev_ns, avg_ts, stddev_ts) VALUES ('fa58122b', '1', 'Intel(R) Xeon(R) Processor', '', 'embedded (CPU time)', 'unit-rocmfp2.gguf', 'deepseek4 unit rocmfp2', '8727136', '0', '32', '32', '2', '', '0', '0', '', '', '0', '0', '', '0', '0', '-1', '', '', '', '', '0', '0', '0', '0', '0', '64', '0', '0', '2026-11-30T16:50:02.734Z', '10217014', '985164', '6311.551061266667', '514.132358160119');
INSERT INTO llama_bench (build_commit, build_number, cpu_info, gpu_info, backends, model_filename, model_type, model_size, model_n_params, n_batch, n_ubatch, n_threads, cpu_mask, cpu_strict, poll, type_k, type_v, n_gpu_layers, n_cpu_moe, split_mode, main_gpu, no_kv_offload, flash_attn, devices, tensor_split, tensor_buft_overrides, load_mode, embeddings, no_op_offload, no_host, fit_target, fit_min_ctx, n_prompt, n_gen, n_depth, test_time, avg_ns, stddev_ns, avg_ts, stddev_ts) VALUES ('16dabea1', '0', 'Intel(R) Xeon(R) Processor', '', 'embedded (CPU time)', 'unit-rocmfp2.gguf', 'deepseek4 unit rocmfp2', '8727136', '0', '128', '128', '2', '', '0', '0', '', '', '0', '0', '', '0', '0', '-1', '', '', '', '', '0', '0', '0', '0', '0', '300', '0', '0', '2026-11-30T16:50:02.734Z', '62798261', '1792817', '4781.014378733334', '138.20538516899285');
INSERT INTO llama_bench (build_commit, build_number, cpu_info, gpu_info, backends, model_filename, model_type, model_size, model_n_params, n_batch, n_ubatch, n_threads, cpu_mask, cpu_strict, poll, type_k, type_v, n_gpu_layers, n_cpu_moe, split_mode, main_gpu, no_kv_offload, flash_attn, devices, tensor_split, tensor_buft_overrides, load_mode, embeddings, no_op_offload, no_host, fit_target, fit_min_ctx, n_prompt, n_gen, n_depth, test_time, avg_ns, stddev_ns, avg_ts, stddev_ts) VALUES ('fa58122b', '1', 'Intel(R) Xeon(R) Processor', '', 'embedded (CPU time)', 'unit-rocmfp2.gguf', 'deepseek4 unit rocmfp2', '8727136', '0', '128', '128', '2', '', '0', '0', '', '', '0', '0', '', '0', '0', '-1', '', '', '', '', '0', '0', '0', '0', '0', '300', '0', '0', '2026-11-30T16:50:02.734Z', '38567085', '1427231', '7788.862469433333', '285.69373570827526');
