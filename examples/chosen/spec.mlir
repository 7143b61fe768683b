// Sparse attention over lists of chosen keys, as an indexer emits them: for each sequence, group of
// two heads and block of four query rows one list, [batch, head group, query block, top_k]. An entry
// is the number of the key's slot in a cache that sequences share; -1 is no key.
//
// `positions` are the positions of the keys in the slots: the mask is causal in them, as k counts the
// entries of a list. A block of rows is a batch of its own to the ops.

func.func @chosen(%query: tensor<?x4x?x4x32xf32> {attn.name = "query", attn.dims = ["batch", 4, "blocks", 4, 32]},
                 %keys: tensor<?x1x2x32xf32> {attn.name = "keys", attn.dims = ["slots", 1, 2, 32]},
                 %values: tensor<?x1x2x32xf32> {attn.name = "values", attn.dims = ["slots", 1, 2, 32]},
                 %lists: tensor<?x2x?x?xi32> {attn.name = "lists", attn.dims = ["batch", 2, "blocks", "top_k"]},
                 %positions: tensor<?xi32> {attn.name = "positions", attn.dims = ["slots"]},
                 %past: tensor<?xi32> {attn.name = "past", attn.dims = ["batch"]})
    -> (tensor<?x4x?x4x32xf32> {attn.name = "context"}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : i32
  %batch = tensor.dim %query, %c0 : tensor<?x4x?x4x32xf32>
  %blocks = tensor.dim %query, %c2 : tensor<?x4x?x4x32xf32>
  %by_block = attn.transpose %query [0, 2, 1, 3, 4] : tensor<?x4x?x4x32xf32>
  %q = tensor.collapse_shape %by_block [[0, 1], [2], [3], [4]] : tensor<?x?x4x4x32xf32> into tensor<?x4x4x32xf32>
  %lists_by_block = attn.transpose %lists [0, 2, 1, 3] : tensor<?x2x?x?xi32>
  %chosen = tensor.collapse_shape %lists_by_block [[0, 1], [2], [3]] : tensor<?x?x2x?xi32> into tensor<?x2x?xi32>
  %slots = attn.map %chosen {
  ^bb0(%slot: i32):
    %none = arith.constant 0 : i32
    %any = arith.maxsi %slot, %none : i32
    attn.yield %any : i32
  } : tensor<?x2x?xi32>
  %key = attn.gather_pages %keys[%slots] : tensor<?x1x2x32xf32>, tensor<?x2x?xi32>
  %value = attn.gather_pages %values[%slots] : tensor<?x1x2x32xf32>, tensor<?x2x?xi32>
  %score = attn.score %q, %key scale(0.125) : tensor<?x4x4x32xf32>, tensor<?x2x?x32xf32>
  %masked = attn.mask %score {
  ^bb0(%row: index, %head: index, %i: index, %k: index):
    %group = arith.divui %head, %c2 : index
    %slot = tensor.extract %chosen[%row, %group, %k] : tensor<?x2x?xi32>
    %is_key = arith.cmpi sge, %slot, %zero : i32
    %any = tensor.extract %slots[%row, %group, %k] : tensor<?x2x?xi32>
    %at = arith.index_cast %any : i32 to index
    %position = tensor.extract %positions[%at] : tensor<?xi32>
    %key_position = arith.index_cast %position : i32 to index
    %b = arith.divui %row, %blocks : index
    %block = arith.remui %row, %blocks : index
    %before = tensor.extract %past[%b] : tensor<?xi32>
    %before_rows = arith.index_cast %before : i32 to index
    %first = arith.muli %block, %c4 : index
    %own = arith.addi %first, %i : index
    %row_position = arith.addi %before_rows, %own : index
    %is_before = arith.cmpi sle, %key_position, %row_position : index
    %seen = arith.andi %is_key, %is_before : i1
    attn.yield %seen : i1
  } : tensor<?x4x4x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x4x?xf32>
  %packed = attn.context %prob, %value : tensor<?x4x4x?xf32>, tensor<?x2x?x32xf32>
  %rows = tensor.expand_shape %packed [[0, 1], [2], [3], [4]] output_shape [%batch, %blocks, 4, 4, 32]
      : tensor<?x4x4x32xf32> into tensor<?x?x4x4x32xf32>
  %context = attn.transpose %rows [0, 2, 1, 3, 4] : tensor<?x?x4x4x32xf32>
  return %context : tensor<?x4x?x4x32xf32>
}
