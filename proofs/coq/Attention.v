(* Attention: the paper's app:attention (fig:attention), with the readings that make it correct.

   The figure sends softmax(Q K^T) to W_v and then drops it; the right message is
   a_s = softmax(Q K^T / sqrt(d_h)) X, and the output is a_s W_v. The two copies of the activation
   have each a mask of its own. Tokens are rows here, as in the appendix: X is s x d. *)
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Ring Masking Linear.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section AnyRing.
Variables (R : ringType) (s d d_h : nat).

(* The order of the appendix and the usual order agree. *)
Lemma rearrangement (S : 'M[R]_s) (X : 'M[R]_(s, d)) (W_v : 'M[R]_(d, d_h)) :
  S *m (X *m W_v) = (S *m X) *m W_v.
Proof. exact: mulmxA. Qed.

(* With a bias on V, the bias is added after (S X) W_v, because the rows of S sum to one. *)
Lemma rearrangement_bias (S : 'M[R]_s) (X : 'M[R]_(s, d)) (W_v : 'M[R]_(d, d_h))
    (bias : 'rV[R]_d_h) :
  S *m const_mx 1 = const_mx 1 :> 'cV[R]_s ->
  S *m (X *m W_v + const_mx 1 *m bias) = (S *m X) *m W_v + const_mx 1 *m bias.
Proof. by move=> S1; rewrite mulmxDr !mulmxA S1. Qed.

(* Attn(X) = S(Q, K) V, where S is softmax(Q K^T / sqrt(d_h)) or any other function. *)
Definition attention (score : 'M[R]_(s, d_h) -> 'M[R]_(s, d_h) -> 'M[R]_s)
    (W_q W_k W_v : 'M[R]_(d, d_h)) (X : 'M[R]_(s, d)) : 'M[R]_(s, d_h) :=
  score (X *m W_q) (X *m W_k) *m (X *m W_v).

(* The appendix protocol, step by step. Suffix _C: Charlie's part; suffix _D: David's part. *)
Definition appendix_protocol (score : 'M[R]_(s, d_h) -> 'M[R]_(s, d_h) -> 'M[R]_s)
    (Wq_C Wq_D Wk_C Wk_D Wv_C Wv_D : 'M[R]_(d, d_h)) (X r_q r_k r_v : 'M[R]_(s, d)) :
    'M[R]_(s, d_h) :=
  (* ahead of use *)
  let c_q := r_q *m Wq_D in
  let c_k := r_k *m Wk_D in
  let c_v := r_v *m Wv_D in
  (* inner masking: two masked copies, two masks *)
  let masked_q := X + r_q in
  let masked_k := X + r_k in
  (* David *)
  let reply_q := masked_q *m Wq_D in
  let reply_k := masked_k *m Wk_D in
  (* inner unmasking *)
  let Q := X *m Wq_C + (reply_q - c_q) in
  let K := X *m Wk_C + (reply_k - c_k) in
  (* midterm *)
  let a_s := score Q K *m X in
  (* outer masking *)
  let masked_s := a_s + r_v in
  (* David *)
  let reply_v := masked_s *m Wv_D in
  (* outer unmasking and output *)
  a_s *m Wv_C + (reply_v - c_v).

Lemma unmask_rows (a r : 'M[R]_(s, d)) (W : 'M[R]_(d, d_h)) : (a + r) *m W - r *m W = a *m W.
Proof. by rewrite mulmxDl addrK. Qed.

Lemma appendix_correct score Wq_C Wq_D Wk_C Wk_D Wv_C Wv_D X r_q r_k r_v :
  appendix_protocol score Wq_C Wq_D Wk_C Wk_D Wv_C Wv_D X r_q r_k r_v
    = attention score (Wq_C + Wq_D) (Wk_C + Wk_D) (Wv_C + Wv_D) X.
Proof.
by rewrite /appendix_protocol /attention !unmask_rows -!mulmxDr mulmxA.
Qed.
End AnyRing.

(* The same two rounds on integers: three exchanges, the third on what Charlie made of the first
   two. The function midterm stands for softmax, the product with X and quantisation. Tokens are
   columns, as everywhere else in the specification. *)
Section Integers.
Variables (L t B_q s d d_h k : nat).
Variables (Wq Wk Wv : 'M[int]_(d_h, d)).
Variables (Aq Ak Av : 'M[int]_(d_h, k)) (Bq Bk Bv : 'M[int]_(k, d)).
Variable midterm : 'M[int]_(d_h, s) -> 'M[int]_(d_h, s) -> 'M[int]_(d, s).

Definition attention_hybrid (X : 'M[int]_(d, s)) (r_q r_k r_v : 'M['Z_L]_(d, s)) :=
  let Q := exchange t Wq Aq Bq X r_q in
  let K := exchange t Wk Ak Bk X r_k in
  exchange t Wv Av Bv (midterm Q K) r_v.

Definition attention_unsplit (X : 'M[int]_(d, s)) :=
  integer_model t Wv Av Bv
    *m midterm (integer_model t Wq Aq Bq *m X) (integer_model t Wk Ak Bk *m X).

Lemma attention_exact X r_q r_k r_v :
  (1 < L)%N ->
  (2 * static_bound B_q Wq + 1 <= L)%N -> (2 * static_bound B_q Wk + 1 <= L)%N ->
  (2 * static_bound B_q Wv + 1 <= L)%N ->
  within B_q X -> (forall Q K, within B_q (midterm Q K)) ->
  attention_hybrid X r_q r_k r_v = attention_unsplit X.
Proof.
move=> L_gt1 Lq Lk Lv X_in mid_in.
rewrite /attention_hybrid (layer_correct _ _ _ r_q L_gt1 Lq X_in).
by rewrite (layer_correct _ _ _ r_k L_gt1 Lk X_in) (layer_correct _ _ _ r_v L_gt1 Lv (mid_in _ _)).
Qed.
End Integers.
