// The model after the level lower: one kernel, the forward pass of a layer, and the first stage. This page is what the compiler prints; update.sh makes it.
// RUN: p3dc %S/model.stablehlo --mesh=2x2x2 --microbatches=2 --emit=lower | sed -n '/llvm.func @kernel.tanh/,/^    }/p; /llvm.func @p3d_block.layer.fwd(%/,/^    }/p; /^  module @stage0/,/^  }/p' > %t && grep -v '^//' %s | diff - %t
    llvm.func @kernel.tanh(%arg0: !llvm.ptr {llvm.noalias}, %arg1: !llvm.ptr {llvm.noalias}) attributes {sym_visibility = "private"} {
      %0 = llvm.mlir.undef : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %1 = llvm.insertvalue %arg1, %0[0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
      %2 = llvm.insertvalue %arg1, %1[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
      %3 = llvm.mlir.constant(0 : index) : i64
      %4 = llvm.insertvalue %3, %2[2] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
      %5 = llvm.mlir.constant(64 : index) : i64
      %6 = llvm.insertvalue %5, %4[3, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
      %7 = llvm.mlir.constant(1 : index) : i64
      %8 = llvm.insertvalue %7, %6[4, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
      %9 = llvm.mlir.undef : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %10 = llvm.insertvalue %arg0, %9[0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
      %11 = llvm.insertvalue %arg0, %10[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
      %12 = llvm.mlir.constant(0 : index) : i64
      %13 = llvm.insertvalue %12, %11[2] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
      %14 = llvm.mlir.constant(64 : index) : i64
      %15 = llvm.insertvalue %14, %13[3, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
      %16 = llvm.mlir.constant(1 : index) : i64
      %17 = llvm.insertvalue %16, %15[4, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
      %18 = llvm.mlir.constant(1.19825836E-6 : f32) : f32
      %19 = llvm.mlir.constant(1.18534706E-4 : f32) : f32
      %20 = llvm.mlir.constant(0.00226843474 : f32) : f32
      %21 = llvm.mlir.constant(0.00489352504 : f32) : f32
      %22 = llvm.mlir.constant(-2.76076837E-16 : f32) : f32
      %23 = llvm.mlir.constant(2.00018794E-13 : f32) : f32
      %24 = llvm.mlir.constant(-8.60467184E-11 : f32) : f32
      %25 = llvm.mlir.constant(5.12229725E-8 : f32) : f32
      %26 = llvm.mlir.constant(1.48572235E-5 : f32) : f32
      %27 = llvm.mlir.constant(6.37261954E-4 : f32) : f32
      %28 = llvm.mlir.constant(0.00489352457 : f32) : f32
      %29 = llvm.mlir.constant(4.000000e-04 : f32) : f32
      %30 = llvm.mlir.constant(7.99881172 : f32) : f32
      %31 = llvm.mlir.constant(-7.99881172 : f32) : f32
      %32 = llvm.mlir.constant(0 : index) : i64
      %33 = llvm.mlir.constant(64 : index) : i64
      %34 = llvm.mlir.constant(1 : index) : i64
      llvm.br ^bb1(%32 : i64)
    ^bb1(%35: i64):  // 2 preds: ^bb0, ^bb2
      %36 = llvm.icmp "slt" %35, %33 : i64
      llvm.cond_br %36, ^bb2, ^bb3
    ^bb2:  // pred: ^bb1
      %37 = llvm.extractvalue %17[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
      %38 = llvm.getelementptr %37[%35] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %39 = llvm.load %38 : !llvm.ptr -> f32
      %40 = llvm.fcmp "ult" %39, %30 : f32
      %41 = llvm.select %40, %39, %30 : i1, f32
      %42 = llvm.fcmp "ugt" %41, %31 : f32
      %43 = llvm.select %42, %41, %31 : i1, f32
      %44 = llvm.intr.fabs(%39)  : (f32) -> f32
      %45 = llvm.fcmp "olt" %44, %29 : f32
      %46 = llvm.fmul %43, %43  : f32
      %47 = llvm.intr.fma(%46, %22, %23)  : (f32, f32, f32) -> f32
      %48 = llvm.intr.fma(%46, %47, %24)  : (f32, f32, f32) -> f32
      %49 = llvm.intr.fma(%46, %48, %25)  : (f32, f32, f32) -> f32
      %50 = llvm.intr.fma(%46, %49, %26)  : (f32, f32, f32) -> f32
      %51 = llvm.intr.fma(%46, %50, %27)  : (f32, f32, f32) -> f32
      %52 = llvm.intr.fma(%46, %51, %28)  : (f32, f32, f32) -> f32
      %53 = llvm.fmul %43, %52  : f32
      %54 = llvm.intr.fma(%46, %18, %19)  : (f32, f32, f32) -> f32
      %55 = llvm.intr.fma(%46, %54, %20)  : (f32, f32, f32) -> f32
      %56 = llvm.intr.fma(%46, %55, %21)  : (f32, f32, f32) -> f32
      %57 = llvm.fdiv %53, %56  : f32
      %58 = llvm.select %45, %43, %57 : i1, f32
      %59 = llvm.extractvalue %8[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
      %60 = llvm.getelementptr %59[%35] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %58, %60 : f32, !llvm.ptr
      %61 = llvm.add %35, %34 : i64
      llvm.br ^bb1(%61 : i64)
    ^bb3:  // pred: ^bb1
      llvm.return
    }
    llvm.func @p3d_block.layer.fwd(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: !llvm.ptr, %arg3: !llvm.ptr, %arg4: !llvm.ptr, %arg5: i64) {
      %0 = llvm.mlir.addressof @constant_1 : !llvm.ptr
      %1 = llvm.mlir.constant(0 : i32) : i32
      %2 = llvm.mlir.constant(0 : i32) : i32
      %3 = llvm.mlir.constant(0 : i32) : i32
      llvm.call @p3d_einsum(%0, %1, %2, %arg2, %arg1, %arg4, %3) : (!llvm.ptr, i32, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr, i32) -> ()
      %4 = llvm.mlir.constant(0 : i32) : i32
      %5 = llvm.mlir.constant(0 : i32) : i32
      %6 = llvm.mlir.constant(64 : i64) : i64
      llvm.call @p3d_made(%arg0, %4, %5, %arg4, %6) : (!llvm.ptr, i32, i32, !llvm.ptr, i64) -> ()
      llvm.call @kernel.tanh(%arg4, %arg3) : (!llvm.ptr, !llvm.ptr) -> ()
      %7 = llvm.mlir.constant(1 : i32) : i32
      %8 = llvm.mlir.constant(0 : i32) : i32
      %9 = llvm.mlir.constant(64 : i64) : i64
      llvm.call @p3d_made(%arg0, %7, %8, %arg3, %9) : (!llvm.ptr, i32, i32, !llvm.ptr, i64) -> ()
      llvm.return
    }
  module @stage0 {
    llvm.mlir.global internal constant @constant_2("\00#\00\00\00\00\00\00\00$\00\00\00\00\00\00") {addr_space = 0 : i32, alignment = 8 : i64}
    llvm.mlir.global internal constant @constant_1("\00!\00\00\00\00\00\00\00\22\00\00\00\00\00\00") {addr_space = 0 : i32, alignment = 8 : i64}
    llvm.func @stage0.forward(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i64, %arg3: i64) {
      %0 = llvm.mlir.constant(9472 : i64) : i64
      %1 = llvm.getelementptr %arg1[%0] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %2 = llvm.mlir.constant(6144 : i64) : i64
      %3 = llvm.getelementptr %arg1[%2] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %4 = llvm.mlir.constant(2 : i64) : i64
      %5 = llvm.srem %arg2, %4  : i64
      %6 = llvm.mlir.constant(8 : i64) : i64
      %7 = llvm.mul %5, %6 : i64
      %8 = llvm.mlir.addressof @constant_1 : !llvm.ptr
      %9 = llvm.getelementptr %8[%7] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %10 = llvm.load %9 : !llvm.ptr -> i64
      %11 = llvm.getelementptr %arg1[%10] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %12 = llvm.mlir.constant(2 : i64) : i64
      %13 = llvm.srem %arg2, %12  : i64
      %14 = llvm.mlir.constant(8 : i64) : i64
      %15 = llvm.mul %13, %14 : i64
      %16 = llvm.mlir.addressof @constant_2 : !llvm.ptr
      %17 = llvm.getelementptr %16[%15] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %18 = llvm.load %17 : !llvm.ptr -> i64
      %19 = llvm.getelementptr %arg1[%18] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %20 = llvm.mlir.constant(2 : i64) : i64
      %21 = llvm.mul %arg2, %20 : i64
      %22 = llvm.mlir.constant(64 : i64) : i64
      %23 = llvm.mul %21, %22 : i64
      %24 = llvm.getelementptr %3[%23] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %25 = llvm.mlir.constant(31 : i32) : i32
      llvm.call @p3d_enter_call(%arg0, %25) : (!llvm.ptr, i32) -> ()
      llvm.call @p3d_block.layer.fwd(%arg0, %arg1, %24, %19, %1, %arg2) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
      llvm.call @kernel.copy(%19, %11) : (!llvm.ptr, !llvm.ptr) -> ()
      %26 = llvm.mlir.constant(32 : i32) : i32
      %27 = llvm.mlir.constant(0 : i32) : i32
      %28 = llvm.mlir.constant(64 : i64) : i64
      llvm.call @p3d_made(%arg0, %26, %27, %11, %28) : (!llvm.ptr, i32, i32, !llvm.ptr, i64) -> ()
      %29 = llvm.mlir.constant(1 : i32) : i32
      %30 = llvm.mlir.constant(0 : i32) : i32
      %31 = llvm.mlir.constant(256 : i64) : i64
      %32 = llvm.mlir.constant(33 : i32) : i32
      llvm.call @p3d_send(%arg0, %29, %30, %arg2, %arg3, %11, %31, %32) : (!llvm.ptr, i32, i32, i64, i64, !llvm.ptr, i64, i32) -> ()
      llvm.return
    }
    llvm.func @p3d_enter_call(!llvm.ptr, i32)
    llvm.func @p3d_block.layer.fwd(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64)
    llvm.func @kernel.copy(!llvm.ptr, !llvm.ptr)
    llvm.func @p3d_made(!llvm.ptr, i32, i32, !llvm.ptr, i64)
    llvm.func @p3d_send(!llvm.ptr, i32, i32, i64, i64, !llvm.ptr, i64, i32)
    llvm.func @stage0.backward(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i64, %arg3: i64) {
      %0 = llvm.mlir.constant(9472 : i64) : i64
      %1 = llvm.getelementptr %arg1[%0] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %2 = llvm.mlir.constant(2 : i64) : i64
      %3 = llvm.srem %arg2, %2  : i64
      %4 = llvm.mlir.constant(8 : i64) : i64
      %5 = llvm.mul %3, %4 : i64
      %6 = llvm.mlir.addressof @constant_2 : !llvm.ptr
      %7 = llvm.getelementptr %6[%5] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %8 = llvm.load %7 : !llvm.ptr -> i64
      %9 = llvm.getelementptr %arg1[%8] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %10 = llvm.mlir.constant(6144 : i64) : i64
      %11 = llvm.getelementptr %arg1[%10] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %12 = llvm.mlir.constant(6400 : i64) : i64
      %13 = llvm.getelementptr %arg1[%12] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %14 = llvm.mlir.constant(1 : i32) : i32
      %15 = llvm.mlir.constant(1 : i32) : i32
      %16 = llvm.mlir.constant(256 : i64) : i64
      %17 = llvm.mlir.constant(34 : i32) : i32
      llvm.call @p3d_recv(%arg0, %14, %15, %arg2, %1, %16, %17) : (!llvm.ptr, i32, i32, i64, !llvm.ptr, i64, i32) -> ()
      %18 = llvm.mlir.constant(2 : i64) : i64
      %19 = llvm.mul %arg2, %18 : i64
      %20 = llvm.mlir.constant(64 : i64) : i64
      %21 = llvm.mul %19, %20 : i64
      %22 = llvm.getelementptr %11[%21] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %23 = llvm.mlir.constant(31 : i32) : i32
      llvm.call @p3d_enter_call(%arg0, %23) : (!llvm.ptr, i32) -> ()
      %24 = llvm.mlir.constant(256 : i64) : i64
      %25 = llvm.getelementptr %1[%24] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      llvm.call @p3d_block.layer.bwd(%arg0, %1, %22, %9, %13, %25, %arg2) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
      llvm.return
    }
    llvm.func @p3d_recv(!llvm.ptr, i32, i32, i64, !llvm.ptr, i64, i32)
    llvm.func @p3d_block.layer.bwd(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64)
    llvm.func @stage0.synchronize(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i64, %arg3: i64) {
      %0 = llvm.mlir.constant(9472 : i64) : i64
      %1 = llvm.getelementptr %arg1[%0] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %2 = llvm.mlir.constant(6400 : i64) : i64
      %3 = llvm.getelementptr %arg1[%2] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %4 = llvm.mlir.constant(1 : i32) : i32
      %5 = llvm.mlir.constant(0 : i32) : i32
      %6 = llvm.mlir.constant(0 : i32) : i32
      %7 = llvm.mlir.constant(0 : i32) : i32
      %8 = llvm.mlir.constant(512 : i64) : i64
      %9 = llvm.mlir.constant(35 : i32) : i32
      llvm.call @p3d_all_reduce(%arg0, %4, %5, %6, %7, %3, %8, %9) : (!llvm.ptr, i32, i32, i32, i32, !llvm.ptr, i64, i32) -> ()
      %10 = llvm.mlir.constant(36 : i32) : i32
      %11 = llvm.mlir.constant(0 : i32) : i32
      %12 = llvm.mlir.constant(512 : i64) : i64
      llvm.call @p3d_made(%arg0, %10, %11, %3, %12) : (!llvm.ptr, i32, i32, !llvm.ptr, i64) -> ()
      llvm.return
    }
    llvm.func @p3d_all_reduce(!llvm.ptr, i32, i32, i32, i32, !llvm.ptr, i64, i32)
    llvm.mlir.global external constant @p3d_tasks() {addr_space = 0 : i32} : !llvm.array<3 x ptr> {
      %0 = llvm.mlir.zero : !llvm.array<3 x ptr>
      %1 = llvm.mlir.addressof @stage0.forward : !llvm.ptr
      %2 = llvm.insertvalue %1, %0[0] : !llvm.array<3 x ptr> 
      %3 = llvm.mlir.addressof @stage0.backward : !llvm.ptr
      %4 = llvm.insertvalue %3, %2[1] : !llvm.array<3 x ptr> 
      %5 = llvm.mlir.addressof @stage0.synchronize : !llvm.ptr
      %6 = llvm.insertvalue %5, %4[2] : !llvm.array<3 x ptr> 
      llvm.return %6 : !llvm.array<3 x ptr>
    }
    llvm.mlir.global external constant @p3d_program("{\22after_update\22:[],\22arena_bytes\22:9984,\22chunks\22:1,\22events\22:0,\22fingerprint\22:\22\22,\22global_batch\22:8,\22inputs\22:[{\22batch_dim\22:0,\22dtype\22:\22f32\22,\22global_shape\22:[8,16],\22index_limit\22:0,\22name\22:\22batch.x\22,\22offset\22:6144}],\22mesh\22:{\22dp\22:2,\22pp\22:2,\22tp\22:2,\22tp_minor\22:1},\22microbatches\22:2,\22model\22:\22\22,\22norm_axes\22:[\22tp\22,\22pp\22],\22operations\22:[\22einsum ab,bc->ac at model.stablehlo:7\22,\22tanh at model.stablehlo:8\22,\22mul at model.stablehlo:8\22,\22einsum ac,ab->bc at model.stablehlo:7\22,\22einsum ab,bc->ac at model.stablehlo:9\22,\22row-parallel product of params.l0.down leaves a partial sum; what follows the block needs it whole: all_reduce over tp\22,\22all_reduce over tp at model.stablehlo:9\22,\22einsum ac,bc->ab at model.stablehlo:9\22,\22einsum ac,ab->bc at model.stablehlo:9\22,\22add at model.stablehlo:10\22,\22einsum ab,bc->ac at model.stablehlo:11\22,\22tanh at model.stablehlo:12\22,\22einsum ab,bc->ac at model.stablehlo:13\22,\22row-parallel product of params.l1.down leaves a partial sum; the addition after it needs it whole: all_reduce over tp\22,\22all_reduce over tp at model.stablehlo:13\22,\22sub at model.stablehlo:15\22,\22reduce_sum at model.stablehlo:19\22,\22div at model.stablehlo:21\22,\22accumulate at model.stablehlo:10\22,\22add at model.stablehlo:17\22,\22einsum ac,bc->ab at model.stablehlo:13\22,\22einsum ac,ab->bc at model.stablehlo:13\22,\22mul at model.stablehlo:12\22,\22einsum ac,bc->ab at model.stablehlo:11\22,\22column-parallel product of params.l1.up: the gradient of its input is a partial sum; the addition after it needs it whole: all_reduce over tp\22,\22all_reduce over tp at model.stablehlo:11\22,\22add at model.stablehlo:11\22,\22einsum ac,ab->bc at model.stablehlo:11\22,\22reduce_sum at model.stablehlo:20\22,\22a sum over the batch, which dp cuts; every microbatch needs it complete: all_reduce over dp\22,\22all_reduce over dp at model.stablehlo:20\22,\22layer 0\22,\22copy at model.stablehlo:7\22,\22send to stage 1: send\22,\22recv from stage 1: recv\22,\22gradients are sums over the batch, which dp cuts: all_reduce over dp\22,\22all_reduce over dp at model.stablehlo:2\22,\22prologue\22,\22recv from stage 0: recv\22,\22layer 1\22,\22last.fwd\22,\22constant\22,\22last.bwd\22,\22send to stage 0: send\22,\22the loss and the metrics are sums over the batch, which dp cuts: all_reduce over dp\22],\22optimizer\22:\22adamw\22,\22order\22:[[0,0,0],[0,1,1],[1,0,0],[1,1,1],[2,0,0]],\22params\22:[{\22counts_in_norm\22:true,\22decay\22:true,\22dtype\22:\22f32\22,\22global_shape\22:[16,64],\22grad\22:6400,\22init\22:{\22kind\22:\22normal\22,\22std\22:0.25},\22m\22:2048,\22master\22:-1,\22name\22:\22params.l0.up\22,\22offset\22:0,\22piece_offset\22:[0,0],\22piece_shape\22:[16,64],\22role\22:\22param\22,\22shards\22:[{\22axes\22:[\22tp\22],\22chunk\22:32,\22dim\22:1}],\22v\22:4096}],\22rank_order\22:\22tp-dp-pp\22,\22results\22:[],\22slabs\22:{\22kept_forward_backward\22:[8960,9216],\22sent_forward\22:[8448,8704]},\22slots\22:2,\22stage\22:0,\22stages\22:2,\22target\22:\22cpu\22,\22tasks\22:[\22forward\22,\22backward\22,\22synchronize\22],\22tied_groups\22:[],\22tokens_per_step\22:8,\22turned_transfers\22:[],\22values\22:[{\22dtype\22:\22f32\22,\22name\22:\22layer0.1\22,\22offset\22:0,\22padded_shape\22:[8,64],\22shards\22:[{\22axes\22:[\22dp\22,\22mb\22],\22dim\22:0},{\22axes\22:[\22tp\22],\22dim\22:1}],\22slab\22:\22kept_forward_backward\22,\22task\22:\22forward\22}],\22version\22:1,\22zero\22:{\22bytes\22:2048,\22offset\22:6400}}\00") {addr_space = 0 : i32}
  }
