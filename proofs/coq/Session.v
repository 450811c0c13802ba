(* Sessions: Charlie, who checks every reply, against an environment that decides everything else.
   Chapters: session, integrity, threat-model.

   One object is the protocol: `real`. Beside it stands what the protocol is as good as: `ideal`, in
   which the products are the unsplit model's and the messages are made up by a simulator. The
   environment is David, the user who gives inputs and reads outputs, and the network, all in one:
   it sees every message, verdict and output, and decides every reply and input. *)
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Probability Ring Masking Linear Planes Integrity Model.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.
Arguments chance : simpl never.

Section Sessions.
Variables (G : finType) (M N : G -> nat) (In Out : Type).
Variables (n : nat) (primes : 'I_n -> nat) (R kappa t : nat).
Variable W_D : forall g, 'M[int]_(M g, N g).
Notation L := (modulus primes).
Notation message := (@message n primes G N).
Notation reply x := (@reply n primes G M N x).
Notation secrets := (secrets primes R kappa).
Notation program := (@program G M N In Out).
Notation factors := (@factors G M N).

Definition right (x : message) : reply x := right_reply W_D x.

(* What happens, as the environment sees it. Accepted and Rejected: a message, David's reply to it,
   and the verdict. Lost: a message to which no reply came. Renewed: Charlie ended the session and
   opened another. Answered: an output, and the input that was given after it. *)
Inductive event : Type :=
  | Accepted (x : message) (y : reply x)
  | Rejected (x : message) (y : reply x)
  | Lost (x : message)
  | Renewed
  | Answered (out : Out) (input : In).
Definition transcript := seq event.

(* Its decisions depend on all that happened before; its coins are outside. No reply: it lets the
   connection break. *)
Record environment : Type := Environment {
  david : transcript -> forall x : message, option (reply x);
  user : transcript -> Out -> In
}.

(* What a mask, and a message, is drawn from. *)
Definition masks g b : finType := [finType of 'M['Z_L]_(N g, b)].

(* Charlie's side of a message: he masks q with r. If y is accepted he unmasks it and adds his own
   part; check before unmasking. *)
Definition masked g b (q : 'M[int]_(N g, b)) (r : masks g b) : message :=
  @Message n primes G N g b (mask q r).
Definition unmasked (C : factors) g b (q : 'M[int]_(N g, b)) (r : masks g b)
    (y : 'M['Z_L]_(M g, b)) : 'M[int]_(M g, b) :=
  charlie_sum t (left_factor C g) (right_factor C g) (unmask y (cancellation (W_D g) r)) q.

(* ---------------------------------------------------------------------------------- protocol *)
Section Real.
Variables (e : environment) (C : factors).

(* Every message has a fresh mask; one w serves all of them, and whoever runs on. A session ends when
   its message is lost, at the first reject, and when Charlie renews it. Q is the number of rejects
   that Charlie lives through, whichever hosts they come from: after the Qth he sends no message. The
   result is what the environment saw. *)
Fixpoint real (Q : nat) (w : secrets) (h : transcript) (p : program) : random transcript :=
  match p with
  | Stop => Known h
  | Answer out next => let i := user e h out in real Q w (rcons h (Answered out i)) (next i)
  | Renew next => real Q w (rcons h Renewed) next
  | Call g b q next broken =>
      if Q isn't Q'.+1 then Known h else
      Draw (fun r : masks g b =>
        let x := masked q r in
        match david e h x with
        | None => real Q w (rcons h (Lost x)) broken
        | Some y =>
            if verdict W_D w y
            then real Q w (rcons h (Accepted y)) (next (unmasked C q r y))
            else real Q' w (rcons h (Rejected y)) broken
        end)
  end.

(* w is drawn once, before everything. *)
Definition real_run (Q : nat) (p : program) : random transcript :=
  Draw (fun w : secrets => real Q w [::] p).
End Real.

(* ------------------------------------------------------------------------------------- ideal *)
(* A simulator plays Charlie's side of the messages. Its type says what it is told: the group and
   the number of columns of a message, and the reply to it. *)
Record simulator : Type := Simulator {
  offer : forall g b, random (masks g b);
  judge : forall x : message, reply x -> bool
}.

(* Uniform residues, and the end of the session at the first wrong reply. It knows W_D. *)
Definition blind : simulator :=
  Simulator (fun g b => Draw (fun v : masks g b => Known v))
            (fun x y => y == right x).

Section Ideal.
Variables (S : simulator) (e : environment) (C : factors).

(* The functionality computes with the unsplit model, and releases the schedule step by step. *)
Fixpoint ideal (Q : nat) (h : transcript) (p : program) : random transcript :=
  match p with
  | Stop => Known h
  | Answer out next => let i := user e h out in ideal Q (rcons h (Answered out i)) (next i)
  | Renew next => ideal Q (rcons h Renewed) next
  | Call g b q next broken =>
      if Q isn't Q'.+1 then Known h else
      bind (offer S g b) (fun v =>
        let x := @Message n primes G N g b v in
        match david e h x with
        | None => ideal Q (rcons h (Lost x)) broken
        | Some y =>
            if judge S y
            then ideal Q (rcons h (Accepted y)) (next (unsplit_product t W_D C q))
            else ideal Q' (rcons h (Rejected y)) broken
        end)
  end.

Definition ideal_run (Q : nat) (p : program) : random transcript := ideal Q [::] p.
End Ideal.

(* -------------------------------------------------------------------------------- simulation *)
Section Simulation.
Hypothesis L_primes : different_primes primes.
Variables (e : environment) (C : factors) (B_q : G -> nat).
Hypothesis L_ge : forall g, (2 * static_bound (B_q g) (W_D g) + 1 <= L)%N.
Notation average_w f := (\sum_(w : secrets) uniform w * f w).

Lemma L_gt1 : (1 < L)%N.
Proof. exact: modulus_gt1. Qed.

Lemma uniform_secrets : distribution (@uniform secrets).
Proof. exact/uniform_distribution/card_secrets_gt0. Qed.

Lemma uniform_masks g b : distribution (@uniform (masks g b)).
Proof. by apply: uniform_distribution; apply/card_gt0P; exists 0. Qed.

Lemma accepts_right (w : secrets) (x : message) : verdict W_D w (right x).
Proof. by case: L_primes => _ p_prime _; apply: verdict_right L_gt1 _ _. Qed.

(* The right reply is unmasked to the unsplit model's product. *)
Lemma unmasked_right g b (q : 'M[int]_(N g, b)) (r : masks g b) :
  within (B_q g) q -> unmasked C q r (right (masked q r)) = unsplit_product t W_D C q.
Proof.
move=> q_in.
exact: (layer_correct t (left_factor C g) (right_factor C g) r L_gt1 (L_ge g) q_in).
Qed.

Lemma card_masks g b : #|masks g b| = (L ^ (N g * b))%N.
Proof. by rewrite card_mx card_Zp_L ?L_gt1. Qed.

(* What is drawn first does not matter. *)
Lemma average_swap (X Y : finType) (f : X -> Y -> rat) :
  \sum_x uniform x * (\sum_y uniform y * f x y) = \sum_y uniform y * (\sum_x uniform x * f x y).
Proof.
under eq_bigr do rewrite mulr_sumr; rewrite exchange_big /=; apply: eq_bigr => y _.
by rewrite mulr_sumr; apply: eq_bigr => x _; rewrite mulrCA.
Qed.

(* The mask is uniform, so the message is. *)
Lemma average_message g b (q : 'M[int]_(N g, b)) (f : message -> rat) :
  \sum_(v : masks g b) uniform v * f (@Message n primes G N g b v)
    = \sum_(r : masks g b) uniform r * f (masked q r).
Proof. by rewrite (reindex (mask q)) //; exact/onW_bij/mask_bijective. Qed.

(* With David always right, or silent, w has nothing to miss: the two are the same. *)
Definition truthful : Prop := forall h x y, david e h x = Some y -> y = right x.

Lemma real_truthful (E : transcript -> bool) p Q (w : secrets) h :
  truthful -> admissible t W_D C B_q p ->
  chance E (real e C Q w h p) = chance E (ideal blind e C Q h p).
Proof.
move=> truth.
elim: p Q h => [|g b q next IHn broken IHb|out next IH|next IH] Q h //=.
- case=> q_in next_in broken_in; case: Q => [//|Q].
  pose step x := match david e h x with
    | None => ideal blind e C Q.+1 (rcons h (Lost x)) broken
    | Some y =>
        if y == right x
        then ideal blind e C Q.+1 (rcons h (Accepted y)) (next (unsplit_product t W_D C q))
        else ideal blind e C Q (rcons h (Rejected y)) broken
    end.
  rewrite !chance_draw (average_message q (fun x => chance E (step x))).
  apply: eq_bigr => r _; congr (_ * _); rewrite /step.
  case d: (david e h (masked q r)) => [y|]; last exact: IHb.
  by rewrite (truth _ _ _ d) accepts_right eqxx (unmasked_right r q_in) IHn.
- by move=> in_all; apply: IH.
by move=> next_in; apply: IH.
Qed.

(* No group has more than R rows, no prime is less than least. *)
Hypothesis M_le : forall g, (M g <= R)%N.
Variable least : nat.
Hypotheses (least_gt0 : (0 < least)%N) (least_le : forall i, (least <= primes i)%N).
Notation passing := ((least%:R ^+ kappa)^-1 : rat).

Lemma wrong_passes (x : message) (y : reply x) : y != right x ->
  Pr (@uniform secrets) (fun w => verdict W_D w y) <= passing.
Proof.
by case: L_primes => _ p_prime p_inj; apply: verdict_wrong p_prime p_inj L_gt1 M_le _ _ _ _ _.
Qed.

(* A wrong reply passes, and what follows is anything, or it does not, and what follows is f' w. *)
Lemma average_wrong (x : message) (y : reply x) (f f' : secrets -> rat) (v c : rat) :
  y != right x -> (forall w, 0 <= f w <= 1) -> (forall w, 0 <= f' w <= 1) ->
  `|average_w f' - v| <= c ->
  `|average_w (fun w => if verdict W_D w y then f w else f' w) - v| <= passing + c.
Proof.
move=> wrong f01 f'01 close.
have split : average_w (fun w => if verdict W_D w y then f w else f' w)
    = average_w (fun w => if verdict W_D w y then f w - f' w else 0) + average_w f'.
  rewrite -big_split /=; apply: eq_bigr => w _.
  by rewrite -mulrDr; case: ifP => _; rewrite ?subrK ?add0r.
rewrite split -addrA; apply: le_trans (ler_norm_add _ _) _; apply: ler_add close.
apply: le_trans (ler_norm_sum _ _ _) _.
apply: le_trans (wrong_passes wrong); rewrite /Pr [X in _ <= X]big_mkcond /=.
apply: ler_sum => w _; have u_ge0 := uniform_ge0 w; case: ifP => _; last first.
  by rewrite mulr0 normr0.
rewrite normrM ger0_norm // -[X in _ <= X]mulr1 ler_wpmul2l // ler_norml.
have /andP[f_ge0 f_le1] := f01 w; have /andP[f'_ge0 f'_le1] := f'01 w.
rewrite ler_subl_addr ler_subr_addl.
by rewrite (le_trans f_le1) ?ler_addl // (le_trans _ f_ge0) // subr_le0.
Qed.

(* Every wrong reply is counted with what would follow if it were rejected, under the same w: so
   nothing is asked of how w is distributed once some were. *)
Theorem real_ideal (E : transcript -> bool) p Q h : admissible t W_D C B_q p ->
  `|average_w (fun w => chance E (real e C Q w h p)) - chance E (ideal blind e C Q h p)|
    <= Q%:R * passing.
Proof.
have passing_ge0 : 0 <= passing by rewrite invr_ge0 exprn_ge0 ?ler0n.
elim: p Q h => [|g b q next IHnext broken IHbroken|out next IH|next IH] Q h /=.
- move=> _; rewrite (average_same (card_secrets_gt0 primes R kappa) (a := (E h)%:R)) //.
  by rewrite subrr normr0 mulr_ge0 ?ler0n.
- case=> q_in next_in broken_in; case: Q => [|Q].
    rewrite (average_same (card_secrets_gt0 primes R kappa) (a := (E h)%:R)) // subrr normr0.
    by rewrite mul0r.
  pose step x := match david e h x with
    | None => ideal blind e C Q.+1 (rcons h (Lost x)) broken
    | Some y =>
        if y == right x
        then ideal blind e C Q.+1 (rcons h (Accepted y)) (next (unsplit_product t W_D C q))
        else ideal blind e C Q (rcons h (Rejected y)) broken
    end.
  rewrite chance_draw (average_message q (fun x => chance E (step x))).
  under eq_bigr do rewrite chance_draw; rewrite average_swap.
  apply: (average_close (uniform_masks g b)) => r; rewrite /step.
  case: (david e h (masked q r)) => [y|]; last exact: IHbroken.
  case: (eqVneq y (right (masked q r))) => [->|wrong].
    under eq_bigr do rewrite accepts_right (unmasked_right r q_in).
    exact: IHnext.
  rewrite mulrS mulrDl mul1r.
  have close := IHbroken Q (rcons h (Rejected y)) broken_in.
  rewrite -[X in `|X - _|](_ : average_w (fun w => if verdict W_D w y
      then chance E (real e C Q.+1 w (rcons h (Accepted y)) (next (unmasked C q r y)))
      else chance E (real e C Q w (rcons h (Rejected y)) broken)) = _).
    apply: average_wrong wrong _ _ close => w; by rewrite chance_ge0 chance_le1.
  by apply: eq_bigr => w _; case: ifP.
- by move=> in_all; apply: IH.
by move=> next_in; apply: IH.
Qed.
End Simulation.

(* ---------------------------------------------------------------- what the ideal never does *)
(* A wrong reply was accepted; a reply was rejected. *)
Definition fooled (h : transcript) : bool :=
  has (fun ev => if ev is Accepted x y then y != right x else false) h.
Definition rejected (h : transcript) : bool :=
  has (fun ev => if ev is Rejected _ _ then true else false) h.

Lemma ideal_not_fooled e C Q h p : ~~ fooled h ->
  surely (fun h' => ~~ fooled h') (ideal blind e C Q h p).
Proof.
elim: p Q h => [|g b q next IHn broken IHb|out next IH|next IH] Q h ok //=; last 2 first.
- by apply: IH; rewrite /fooled has_rcons.
- by apply: IH; rewrite /fooled has_rcons.
case: Q => [//|Q] v; case: (david e h _) => [y|] /=; last by apply: IHb; rewrite /fooled has_rcons.
case: eqP => [right_y|_]; last by apply: IHb; rewrite /fooled has_rcons.
by apply: IHn; rewrite /fooled has_rcons /= right_y eqxx.
Qed.

(* -------------------------------------------------------------------------------------- view *)
(* The messages that David received. *)
Definition view (h : transcript) : seq message :=
  pmap (fun ev => match ev with
                  | Accepted x _ => Some x
                  | Rejected x _ => Some x
                  | Lost x => Some x
                  | _ => None
                  end) h.

(* How many residues they hold. *)
Definition residues (v : seq message) : nat := (\sum_(x <- v) N (group x) * columns x)%N.

Lemma residues_cons x v : residues (x :: v) = (N (group x) * columns x + residues v)%N.
Proof. exact: big_cons. Qed.

(* Messages can be compared. *)
Definition message_tag (x : message) : {g : G & {b : nat & 'M['Z_L]_(N g, b)}} :=
  Tagged (fun g => {b : nat & 'M['Z_L]_(N g, b)})
         (Tagged (fun b => 'M['Z_L]_(N (group x), b)) (sent x)).
Definition message_untag (z : {g : G & {b : nat & 'M['Z_L]_(N g, b)}}) : message :=
  @Message n primes G N (tag z) (tag (tagged z)) (tagged (tagged z)).
Lemma message_tagK : cancel message_tag message_untag.
Proof. by case. Qed.
Definition message_eqMixin := CanEqMixin message_tagK.
Canonical message_eqType := EqType message message_eqMixin.

Lemma view_rcons h ev : view (rcons h ev) = view h ++ view [:: ev].
Proof. by rewrite -cats1 /view pmap_cat. Qed.

Lemma masked_injective g b (q : 'M[int]_(N g, b)) : injective (masked q).
Proof.
move=> r r' /(congr1 message_tag)/eqP; rewrite /message_tag /masked /=.
by rewrite eq_Tagged /= => /eqP/eqP; rewrite eq_Tagged => /eqP/mask_injective.
Qed.

Section View.
Hypothesis L_primes : different_primes primes.
Variables (e : environment) (C : factors).

(* A run only adds to the view. *)
Lemma real_adds Q (w : secrets) h p :
  surely (fun h' => exists v, view h' = view h ++ v) (real e C Q w h p).
Proof.
elim: p Q h => [|g b q next IHn broken IHb|out next IH|next IH] Q h /=.
- by exists [::]; rewrite cats0.
- case: Q => [|Q] /=; first by exists [::]; rewrite cats0.
  move=> r; set x := masked q r.
  case: (david e h x) => [y|]; [case: ifP => _|].
  + by apply: sub_surely (IHn _ _ _) _ => h' [v ->]; exists (x :: v); rewrite view_rcons -catA.
  + by apply: sub_surely (IHb _ _) _ => h' [v ->]; exists (x :: v); rewrite view_rcons -catA.
  + by apply: sub_surely (IHb _ _) _ => h' [v ->]; exists (x :: v); rewrite view_rcons -catA.
- by apply: sub_surely (IH _ _ _) _ => h' [v ->]; exists v; rewrite view_rcons cats0.
by apply: sub_surely (IH _ _) _ => h' [v ->]; exists v; rewrite view_rcons cats0.
Qed.

(* Drawing, when all but one outcome rule the event out. *)
Lemma average_only (X : finType) (x0 : X) (f : X -> rat) :
  (forall x, x != x0 -> f x = 0) -> \sum_x uniform x * f x = #|X|%:R^-1 * f x0.
Proof.
move=> others; rewrite (bigD1 x0) //= big1 ?addr0 // => x /others ->.
by rewrite mulr0.
Qed.

(* With any w, a view has probability 0 or L^-N. *)
Lemma view_law Q (w : secrets) h p v :
  let P := chance (fun h' => view h' == view h ++ v) (real e C Q w h p) in
  P = 0 \/ P = ((L ^ residues v)%N%:R)^-1.
Proof.
have stops h' v' : let P := (view h' == view h' ++ v')%:R : rat in
    P = 0 \/ P = ((L ^ residues v')%N%:R)^-1.
  move=> P; have -> : P = (v' == [::])%:R.
    by rewrite /P -{1}[view h']cats0 eqseq_cat // eqxx; case: (v').
  case: v' @P => [|? ?] _; last by left.
  by right; rewrite /residues big_nil expn0 invr1.
elim: p Q h v => [|g b q next IHn broken IHb|out next IH|next IH] Q h v /=.
- exact: stops.
- case: Q => [|Q]; first exact: stops.
  set step := fun r : masks g b => let x := masked q r in _.
  have adds r : surely (fun h' => exists v, view h' = view h ++ masked q r :: v) (step r).
    rewrite /step; set x := masked q r.
    have add Q' ev p' : view [:: ev] = [:: x] ->
        surely (fun h' => exists v, view h' = view h ++ x :: v) (real e C Q' w (rcons h ev) p').
      move=> view_ev; apply: sub_surely (real_adds _ _ _ _) _ => h' [v' ->].
      by exists v'; rewrite view_rcons view_ev -catA.
    by case: (david e h x) => [y|]; [case: ifP => _|]; apply: add.
  have never r : (if v is x :: _ then masked q r != x else true) ->
      chance (fun h' => view h' == view h ++ v) (step r) = 0.
    move=> other; apply: surely_never (adds r) _ => h' [v' ->].
    rewrite eqseq_cat // eqxx /=.
    by case: v other => [_|x v /negPf other]; rewrite ?eqseq_cons ?other.
  rewrite chance_draw; case: v never => [|x v] never.
    by left; apply: big1 => r _; rewrite never ?mulr0.
  case: (pickP (fun r => masked q r == x)) => [r /eqP r_x|none]; last first.
    by left; apply: big1 => r _; rewrite never ?mulr0 ?none.
  rewrite (average_only (x0 := r)) => [|r' r'_neq]; last first.
    by apply: never; rewrite -r_x; apply: contra r'_neq => /eqP/masked_injective ->.
  subst x; set x := masked q r in never *.
  have after : let P := chance (fun h' => view h' == view h ++ x :: v) (step r) in
      P = 0 \/ P = ((L ^ residues v)%N%:R)^-1.
    have seen ev : view [:: ev] = [:: x] -> view h ++ x :: v = view (rcons h ev) ++ v.
      by move=> view_ev; rewrite view_rcons view_ev -catA.
    rewrite /step -/x; case: (david e h x) => [y|]; last by rewrite (seen (Lost x)) //; apply: IHb.
    case: ifP => _; last by rewrite (seen (Rejected y)) //; apply: IHb.
    by rewrite (seen (Accepted y)) //; apply: IHn.
  case: after => ->; first by left; rewrite mulr0.
  right; rewrite card_masks //.
  transitivity (((L ^ (N g * b + residues v))%N%:R)^-1 : rat).
    by rewrite expnD [in RHS]natrM [in RHS]invfM.
  by congr (_%:R^-1); congr (_ ^ _)%N; apply: esym; apply: residues_cons.
- by have := IH (user e h out) Q (rcons h (Answered out (user e h out))) v; rewrite view_rcons cats0.
by have := IH Q (rcons h Renewed) v; rewrite view_rcons cats0.
Qed.
End View.

(* ---------------------------------------------------------------------------- fixed schedule *)
(* The groups and numbers of columns of messages. *)
Definition schedule (v : seq message) : seq (G * nat) := [seq (group x, columns x) | x <- v].

(* Whatever the products and the inputs are, the program sends messages of these shapes. *)
Fixpoint keeps_schedule (shapes : seq (G * nat)) (p : program) : Prop :=
  match p with
  | Stop => shapes = [::]
  | Call g b q next broken =>
      if shapes is (g', b') :: rest
      then [/\ g' = g, b' = b & forall y, keeps_schedule rest (next y)] else False
  | Answer out next => forall i, keeps_schedule shapes (next i)
  | Renew next => keeps_schedule shapes next
  end.

Lemma ideal_adds e C Q h p :
  surely (fun h' => exists v, view h' = view h ++ v) (ideal blind e C Q h p).
Proof.
elim: p Q h => [|g b q next IHn broken IHb|out next IH|next IH] Q h /=.
- by exists [::]; rewrite cats0.
- case: Q => [|Q] /=; first by exists [::]; rewrite cats0.
  move=> m; set x := Message m.
  case: (david e h x) => [y|]; [case: ifP => _|].
  + by apply: sub_surely (IHn _ _ _) _ => h' [v ->]; exists (x :: v); rewrite view_rcons -catA.
  + by apply: sub_surely (IHb _ _) _ => h' [v ->]; exists (x :: v); rewrite view_rcons -catA.
  + by apply: sub_surely (IHb _ _) _ => h' [v ->]; exists (x :: v); rewrite view_rcons -catA.
- by apply: sub_surely (IH _ _ _) _ => h' [v ->]; exists v; rewrite view_rcons cats0.
by apply: sub_surely (IH _ _) _ => h' [v ->]; exists v; rewrite view_rcons cats0.
Qed.

Lemma ideal_uniform e C Q h p shapes v : different_primes primes ->
  (forall h x, david e h x = Some (right x)) -> keeps_schedule shapes p -> schedule v = shapes ->
  chance (fun h' => view h' == view h ++ v) (ideal blind e C Q.+1 h p)
    = ((L ^ residues v)%N%:R)^-1.
Proof.
move=> L_primes honest.
elim: p h shapes v => [|g b q next IHn broken IHb|out next IH|next IH] h shapes v /=.
- by move=> ->; case: v => // _;
    rewrite /= /chance cats0 eqxx /residues big_nil expn0 invr1.
- case: shapes => [//|[g' b'] rest] [-> -> keeps]; case: v => [//|[g0 b0 m] v] /= [eg eb sv].
  subst g0 b0; rewrite chance_draw (average_only (x0 := m)) => [|m' m'_neq]; last first.
    rewrite honest eqxx; apply: surely_never (ideal_adds _ _ _ _ _) _ => h' [v' ->].
    rewrite view_rcons -catA eqseq_cat // eqxx /= eqseq_cons -(inj_eq (can_inj message_tagK)).
    by rewrite /message_tag /= eq_Tagged /= -/(Tagged _ _) eq_Tagged /= (negPf m'_neq).
  rewrite honest eqxx; set x := Message m.
  have -> : view h ++ x :: v = view (rcons h (Accepted (right x))) ++ v.
    by rewrite view_rcons -catA.
  rewrite (IHn _ _ _ _ (keeps _) sv) card_masks //.
  transitivity (((L ^ (N g * b + residues v))%N%:R)^-1 : rat).
    by rewrite expnD [in RHS]natrM [in RHS]invfM.
  by congr (_%:R^-1); congr (_ ^ _)%N; apply: esym; apply: residues_cons.
- by move=> keeps sv; have := IH _ (rcons h (Answered out (user e h out))) _ _ (keeps _) sv;
    rewrite view_rcons cats0.
- by move=> keeps sv; have := IH (rcons h Renewed) _ _ keeps sv; rewrite view_rcons cats0.
Qed.
End Sessions.

(* ----------------------------------------------------------------------------------- outputs *)
Section Outputs.
Variables (G : finType) (M N : G -> nat) (In : Type) (Out : eqType).
Variables (n : nat) (primes : 'I_n -> nat) (t : nat).
Variables (W_D : forall g, 'M[int]_(M g, N g)) (C : @factors G M N).
Notation program := (@program G M N In Out).
Notation transcript := (@transcript G M N In Out n primes).

(* Everything in the transcript, outputs above all, is what the unsplit model gives on the inputs in
   it, with sessions that break where they break in it. *)
Fixpoint faithful (p : program) (h : transcript) : bool :=
  match p, h with
  | _, [::] => true
  | Answer out next, Answered out' i :: h' => (out' == out) && faithful (next i) h'
  | Call g b q next broken, Accepted x y :: h' =>
      ((group x, columns x) == (g, b)) && faithful (next (unsplit_product t W_D C q)) h'
  | Call g b q next broken, Rejected x y :: h' =>
      ((group x, columns x) == (g, b)) && faithful broken h'
  | Call g b q next broken, Lost x :: h' => ((group x, columns x) == (g, b)) && faithful broken h'
  | Renew next, Renewed :: h' => faithful next h'
  | _, _ => false
  end.

Lemma ideal_faithful e Q h p :
  surely (fun h' => exists tail, h' = h ++ tail /\ faithful p tail)
    (ideal t W_D (blind primes W_D) e C Q h p).
Proof.
elim: p Q h => [|g b q next IHn broken IHb|out next IH|next IH] Q h /=.
- by exists [::]; rewrite cats0.
- case: Q => [|Q] /=; first by exists [::]; rewrite cats0.
  move=> v; set x := Message _.
  case: (david e h x) => [y|]; [case: ifP => _|].
  + apply: sub_surely (IHn _ _ _) _ => h' [tail [-> ok]].
    by exists (Accepted In Out y :: tail); rewrite cat_rcons /= eqxx.
  + apply: sub_surely (IHb _ _) _ => h' [tail [-> ok]].
    by exists (Rejected In Out y :: tail); rewrite cat_rcons /= eqxx.
  + apply: sub_surely (IHb _ _) _ => h' [tail [-> ok]].
    by exists (Lost M In Out x :: tail); rewrite cat_rcons /= eqxx.
- apply: sub_surely (IH _ _ _) _ => h' [tail [-> ok]].
  by exists (Answered M N primes out (user e h out) :: tail); rewrite cat_rcons /= eqxx.
apply: sub_surely (IH _ _) _ => h' [tail [-> ok]].
by exists (Renewed M N In Out primes :: tail); rewrite cat_rcons.
Qed.

Hypothesis L_primes : different_primes primes.
Variable B_q : G -> nat.
Hypothesis L_ge : forall g, (2 * static_bound (B_q g) (W_D g) + 1 <= modulus primes)%N.

(* With David always right, or silent: whatever the masks and w are, nothing is rejected, and all
   outputs are the unsplit model's. *)
Lemma real_faithful R kappa e Q (w : secrets primes R kappa) h p : truthful W_D e ->
  admissible t W_D C B_q p ->
  surely (fun h' => exists tail, h' = h ++ tail /\ faithful p tail && ~~ rejected tail)
    (real t W_D e C Q w h p).
Proof.
move=> truth.
elim: p Q h => [|g b q next IHn broken IHb|out next IH|next IH] Q h /=.
- by exists [::]; rewrite cats0.
- case=> q_in next_in broken_in; case: Q => [|Q] /=; first by exists [::]; rewrite cats0.
  move=> r; case d: (david e h _) => [y|].
    rewrite (truth _ _ _ d) (accepts_right _ L_primes) (unmasked_right t L_primes C L_ge r q_in).
    apply: sub_surely (IHn _ _ _ next_in) _ => h' [tail [-> ok]].
    by exists (Accepted In Out (right W_D (masked q r)) :: tail); rewrite cat_rcons /= eqxx.
  apply: sub_surely (IHb _ _ broken_in) _ => h' [tail [-> ok]].
  by exists (Lost M In Out (masked q r) :: tail); rewrite cat_rcons /= eqxx.
- move=> in_all; apply: sub_surely (IH _ _ _ (in_all _)) _ => h' [tail [-> ok]].
  by exists (Answered M N primes out (user e h out) :: tail); rewrite cat_rcons /= eqxx.
move=> next_in; apply: sub_surely (IH _ _ next_in) _ => h' [tail [-> ok]].
by exists (Renewed M N In Out primes :: tail); rewrite cat_rcons.
Qed.
End Outputs.

(* --------------------------------------------------------------------------------- whole runs *)
(* omega is all that is fixed before masks and w are drawn: Charlie's part of the model, his
   program with the secrets in it, the environment with its coins and whatever it knows. *)
Section Runs.
Variables (G : finType) (M N : G -> nat) (In Out : Type) (n : nat) (primes : 'I_n -> nat).
Variables (R kappa t : nat) (W_D : forall g, 'M[int]_(M g, N g)) (B_q : G -> nat).
Variables (Omega : finType) (mu : Omega -> rat).
Variables (e : Omega -> @environment G M N In Out n primes) (C : Omega -> @factors G M N).
Variables (p : Omega -> @program G M N In Out) (Q : nat).
Notation L := (modulus primes).
Notation transcript := (@transcript G M N In Out n primes).
Notation message := (@message n primes G N).
Notation secrets := (secrets primes R kappa).
Notation real_runs := (fun o => real_run R kappa t W_D (e o) (C o) Q (p o)).
Notation ideal_runs := (fun o => ideal_run t W_D (blind primes W_D) (e o) (C o) Q (p o)).
Hypotheses (L_primes : different_primes primes) (mu_dist : distribution mu).

(* One prior, one w and one run: the weight of what is fixed, w and the view together. *)
Lemma run_law (z : Omega * secrets) (v : seq message) :
  let P := chance_over (independent mu (@uniform secrets))
             (fun z => real t W_D (e z.1) (C z.1) Q z.2 [::] (p z.1))
             (fun r => (r.1 == z) && (view r.2 == v)) in
  P = 0 \/ P = mu z.1 / (#|secrets| * L ^ residues v)%N%:R.
Proof.
rewrite /chance_over (bigD1 z) //= [X in _ + X]big1 => [|z' /negbTE z'_neq]; last first.
  by rewrite (eq_chance (E' := xpred0)) ?chance_never ?mulr0 // => h; rewrite z'_neq.
rewrite addr0 eqxx /=.
case: (view_law t W_D L_primes (e z.1) (C z.1) Q z.2 [::] (p z.1) v) => /= ->.
  by left; rewrite mulr0.
by right; rewrite /independent /uniform natrM invfM mulrA.
Qed.

(* A David who is always right, and a program with a fixed schedule: the view is uniform, and
   independent of all that is fixed. *)
Lemma run_uniform (D : pred Omega) (shapes : seq (G * nat)) (v : seq message) :
  (forall g, (2 * static_bound (B_q g) (W_D g) + 1 <= L)%N) -> (0 < Q)%N ->
  (forall o, admissible t W_D (C o) B_q (p o)) ->
  (forall o h x, david (e o) h x = Some (right W_D x)) ->
  (forall o, keeps_schedule shapes (p o)) -> schedule v = shapes ->
  chance_over mu real_runs (fun z => D z.1 && (view z.2 == v)) = Pr mu D / (L ^ residues v)%N%:R.
Proof.
move=> L_ge Q_gt0 adm honest keeps sv; rewrite /chance_over /Pr mulr_suml [RHS]big_mkcond /=.
apply: eq_bigr => o _; case: (D o) => /=; last first.
  by rewrite chance_never mulr0.
congr (_ * _); rewrite chance_draw; apply: average_same (card_secrets_gt0 _ _ _) _ => w.
have truth : truthful W_D (e o) by move=> h x y; rewrite honest => -[].
rewrite (real_truthful L_primes L_ge (fun h => view h == v) Q w [::] truth (adm o)).
by case: Q Q_gt0 => // Q' _; apply: (ideal_uniform t _ Q' [::] L_primes (honest o) (keeps o) sv).
Qed.

Hypothesis L_ge : forall g, (2 * static_bound (B_q g) (W_D g) + 1 <= L)%N.
Hypothesis adm : forall o, admissible t W_D (C o) B_q (p o).
Hypothesis M_le : forall g, (M g <= R)%N.
Variable least : nat.
Hypotheses (least_gt0 : (0 < least)%N) (least_le : forall i, (least <= primes i)%N).
Notation passing := ((least%:R ^+ kappa)^-1 : rat).

(* What the environment sees and gets is, together with all that is fixed, within Q least^-kappa of
   the ideal. *)
Theorem simulation (J : Omega * transcript -> bool) :
  `|chance_over mu real_runs J - chance_over mu ideal_runs J| <= Q%:R * passing.
Proof.
apply: average_close mu_dist _ => o; rewrite chance_draw.
exact: (real_ideal kappa L_primes (e o) L_ge M_le least_gt0 least_le (fun h => J (o, h)) Q [::]
                   (adm o)).
Qed.

(* What never happens in the ideal is rare in the protocol. *)
Lemma real_rare (bad : Omega -> transcript -> bool) :
  (forall o, surely (fun h => ~~ bad o h)
               (ideal_run t W_D (blind primes W_D) (e o) (C o) Q (p o))) ->
  chance_over mu real_runs (fun z => bad z.1 z.2) <= Q%:R * passing.
Proof.
move=> never; have := simulation (fun z => bad z.1 z.2).
rewrite [X in _ - X](_ : _ = 0) ?subr0 => [close|]; first exact: le_trans (ler_norm _) close.
by apply: big1 => o _; rewrite (surely_never (never o)) ?mulr0 // => h /negPf.
Qed.

Lemma real_fooled : chance_over mu real_runs (fun z => fooled W_D z.2) <= Q%:R * passing.
Proof. by apply: (real_rare (bad := fun _ => fooled W_D)) => o; apply: ideal_not_fooled. Qed.
End Runs.

Lemma real_unfaithful (G : finType) (M N : G -> nat) (In : Type) (Out : eqType) (n : nat)
    (primes : 'I_n -> nat) (R kappa t : nat) (W_D : forall g, 'M[int]_(M g, N g)) (B_q : G -> nat)
    (Omega : finType) (mu : Omega -> rat) (e : Omega -> @environment G M N In Out n primes)
    (C : Omega -> @factors G M N) (p : Omega -> @program G M N In Out) (Q : nat) :
  different_primes primes -> distribution mu ->
  (forall g, (2 * static_bound (B_q g) (W_D g) + 1 <= modulus primes)%N) ->
  (forall o, admissible t W_D (C o) B_q (p o)) -> (forall g, (M g <= R)%N) ->
  forall least : nat, (0 < least)%N -> (forall i, (least <= primes i)%N) ->
  chance_over mu (fun o => real_run R kappa t W_D (e o) (C o) Q (p o))
    (fun z => ~~ faithful t W_D (C z.1) (p z.1) z.2) <= Q%:R * (least%:R ^+ kappa)^-1.
Proof.
move=> L_primes mu_dist L_ge adm M_le least least_gt0 least_le.
apply: (@real_rare G M N In Out n primes R kappa t W_D B_q Omega mu e C p Q L_primes mu_dist L_ge
          adm M_le least least_gt0 least_le (fun o h => ~~ faithful t W_D (C o) (p o) h)) => o.
by apply: sub_surely (ideal_faithful _ _ _ _ _ _ _) _ => h [tail [-> ok]]; rewrite negbK.
Qed.

Lemma real_run_faithful (G : finType) (M N : G -> nat) (In : Type) (Out : eqType) (n : nat)
    (primes : 'I_n -> nat) (R kappa t : nat) (W_D : forall g, 'M[int]_(M g, N g)) (B_q : G -> nat)
    (e : @environment G M N In Out n primes) (C : @factors G M N) (p : @program G M N In Out)
    (Q : nat) :
  different_primes primes ->
  (forall g, (2 * static_bound (B_q g) (W_D g) + 1 <= modulus primes)%N) ->
  admissible t W_D C B_q p -> truthful W_D e ->
  surely (fun h => faithful t W_D C p h && ~~ rejected h) (real_run R kappa t W_D e C Q p).
Proof.
move=> L_primes L_ge adm truth w.
by apply: sub_surely (real_faithful L_primes L_ge Q w [::] truth adm) _ => h [tail [-> ok]].
Qed.
