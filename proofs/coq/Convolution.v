(* Convolution: the paper's appendix cnn. A convolution is a product with a matrix. The appendix
   names the row by n and the column by (i, j, c); the row is (i, j, n), the column is
   (i + u - 1, j + v - 1, c). Indices start at 0 here, so the column is (i + u, j + v, c). *)
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* The flat index of (i, j, c) in a tensor with W columns and C channels, and its parts. *)
Definition index (W C i j c : nat) : nat := ((i * W + j) * C + c)%N.
Definition row_of (W C k : nat) : nat := (k %/ C %/ W)%N.
Definition column_of (W C k : nat) : nat := ((k %/ C) %% W)%N.
Definition channel_of (C k : nat) : nat := (k %% C)%N.

Lemma index_parts W C i j c : (j < W)%N -> (c < C)%N ->
  [/\ row_of W C (index W C i j c) = i, column_of W C (index W C i j c) = j
    & channel_of C (index W C i j c) = c].
Proof.
move=> j_lt c_lt; have C_gt0 : (0 < C)%N by apply: leq_ltn_trans c_lt.
have W_gt0 : (0 < W)%N by apply: leq_ltn_trans j_lt.
rewrite /row_of /column_of /channel_of /index divnMDl // (divn_small c_lt) addn0.
by rewrite divnMDl // (divn_small j_lt) addn0 !modnMDl !modn_small.
Qed.

Lemma index_lt H W C i j c : (i < H)%N -> (j < W)%N -> (c < C)%N ->
  (index W C i j c < H * W * C)%N.
Proof.
move=> i_lt j_lt c_lt; rewrite /index.
have h1 : (i * W + j < H * W)%N by nia.
by nia.
Qed.

Section Convolution.
Variables (R : comRingType) (H W C kH kW N H_o W_o : nat).
(* The input X, H x W x C, and the kernel K, kH x kW x C x N; values elsewhere do not matter. *)
Variables (X : nat -> nat -> nat -> R) (K : nat -> nat -> nat -> nat -> R).

(* O_(i, j, f) = sum_c sum_u sum_v X_(i + u, j + v, c) K_(u, v, c, f): stride 1, no padding. *)
Definition convolution (i j f : nat) : R :=
  \sum_(c < C) \sum_(u < kH) \sum_(v < kW) X (i + u) (j + v) c * K u v c f.

(* x = vec(X). *)
Definition vec : 'cV[R]_(H * W * C) :=
  \col_k X (row_of W C k) (column_of W C k) (channel_of C k).

(* The entry of row (i, j, f) and column (p, q, c) is K_(p - i, q - j, c, f) inside the window. *)
Definition convolution_matrix : 'M[R]_(H_o * W_o * N, H * W * C) :=
  \matrix_(r, k)
    let i := row_of W_o N r in let j := column_of W_o N r in let f := channel_of N r in
    let p := row_of W C k in let q := column_of W C k in let c := channel_of C k in
    if (i <= p < i + kH)%N && (j <= q < j + kW)%N then K (p - i) (q - j) c f else 0.

Lemma sum_window (M i k : nat) (h : nat -> R) : (i + k <= M)%N ->
  \sum_(0 <= p < M) (if (i <= p < i + k)%N then h p else 0) = \sum_(u < k) h (i + u)%N.
Proof.
move=> le_M; have le_i : (i <= M)%N by apply: leq_trans le_M; apply: leq_addr.
rewrite (big_cat_nat _ _ _ (leq0n i) le_i) /= (big_cat_nat _ _ _ (leq_addr k i) le_M) /=.
rewrite big_nat big1 ?add0r => [|p /andP[_ lt_pi]]; last by rewrite leqNgt lt_pi.
rewrite [X in _ + X]big_nat [X in _ + X]big1 ?addr0 => [|p /andP[le_p _]]; last first.
  by rewrite [(p < _)%N]ltnNge le_p andbF.
rewrite -{1}[i]add0n big_addn addKn big_mkord; apply: eq_bigr => u _.
by rewrite leq_addl addnC ltn_add2l ltn_ord.
Qed.

Hypotheses (C_gt0 : (0 < C)%N) (W_gt0 : (0 < W)%N).
Hypotheses (H_o_le : (H_o + kH <= H.+1)%N) (W_o_le : (W_o + kW <= W.+1)%N).

Lemma convolution_correct (r : 'I_(H_o * W_o * N)) :
  (convolution_matrix *m vec) r 0
    = convolution (row_of W_o N r) (column_of W_o N r) (channel_of N r).
Proof.
set i := row_of _ _ _; set j := column_of _ _ _; set f := channel_of _ _.
have r_lt := ltn_ord r.
have := leq_ltn_trans (leq0n _) r_lt; rewrite !muln_gt0 => /andP[/andP[_ W_o_gt0] N_gt0].
have i_lt : (i < H_o)%N by rewrite /i /row_of !ltn_divLR.
have j_lt : (j < W_o)%N by rewrite /j /column_of ltn_mod.
pose g p q c : R := if (i <= p < i + kH)%N && (j <= q < j + kW)%N
                    then K (p - i) (q - j) c f * X p q c else 0.
rewrite mxE.
transitivity (\sum_(k < H * W * C) g (row_of W C k) (column_of W C k) (channel_of C k)).
  by apply: eq_bigr => k _; rewrite !mxE /g; case: ifP; rewrite ?mul0r.
rewrite -(big_mkord xpredT (fun k => g (row_of W C k) (column_of W C k) (channel_of C k))).
rewrite /row_of /column_of /channel_of.
rewrite (@sum_divmod _ _ _ _ _ (fun a c => g (a %/ W)%N (a %% W)%N c)) //.
rewrite (@sum_divmod _ _ _ _ _ (fun p q => \sum_(0 <= c < C) g p q c)) //.
transitivity (\sum_(0 <= c < C) \sum_(0 <= p < H) \sum_(0 <= q < W) g p q c).
  rewrite [RHS]exchange_big_nat /=; apply: eq_bigr => p _.
  exact: exchange_big_nat.
rewrite /convolution big_mkord; apply: eq_bigr => c _.
transitivity (\sum_(0 <= p < H) if (i <= p < i + kH)%N
    then \sum_(v < kW) K (p - i) v c f * X p (j + v) c else 0).
  apply: eq_bigr => p _; rewrite /g; case: ifP => _ /=; last by rewrite big1.
  rewrite (@sum_window _ _ _ (fun q => K (p - i)%N (q - j)%N c f * X p q c)); last by lia.
  by apply: eq_bigr => v _; rewrite addKn.
rewrite (@sum_window _ _ _ (fun p => \sum_(v < kW) K (p - i)%N v c f * X p (j + v)%N c)); last by
  lia.
by apply: eq_bigr => u _; apply: eq_bigr => v _; rewrite addKn mulrC.
Qed.
End Convolution.
